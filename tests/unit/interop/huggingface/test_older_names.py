"""Names that tensors have in some files only: norms of the first years, biases stored once."""

from __future__ import annotations

import pytest
import torch
from tests.unit.interop.huggingface.same_as_transformers import randomized
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM

from greffe.config.sections import ModelSpec
from greffe.errors import MismatchError
from greffe.interop.huggingface.assemble import plan_tensors
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import Family

CONFIG = {
    "vocab_size": 61,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
}
BIAS, DECODER_BIAS = "cls.predictions.bias", "cls.predictions.decoder.bias"


def file_tensors(*, tied: bool = True) -> dict[str, Tensor]:
    theirs = randomized(BertForMaskedLM(BertConfig(**CONFIG, tie_word_embeddings=tied)))
    return dict(theirs.state_dict())


def read(tensors: dict[str, Tensor], *, tied: bool = True, context: int = 32) -> dict[str, Tensor]:
    bert = Family.registry["bert"]
    config = Config({**CONFIG, "tie_word_embeddings": tied}, "config.json")
    spec = ModelSpec.model_validate({**bert.model(config), "family": "bert", "context": context})
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    plan = plan_tensors(bert.layout(spec, config), bert.prefix, spec, 61, shapes, "test")
    return dict(plan.read(tensors.__getitem__))


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_norms_called_gamma_and_beta_are_read() -> None:
    tensors = file_tensors()
    older = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in tensors.items()
    }
    assert len(older.keys() - tensors.keys()) == 2 * (1 + 2 * 2 + 1)
    assert same(read(older), read(tensors))


def test_a_missing_norm_has_its_usual_name_in_the_error() -> None:
    tensors = file_tensors()
    del tensors["bert.embeddings.LayerNorm.weight"]
    with pytest.raises(MismatchError) as caught:
        read(tensors)
    assert "bert.embeddings.LayerNorm.weight is missing" in str(caught.value.found)


@pytest.mark.parametrize("missing", [BIAS, DECODER_BIAS])
@pytest.mark.parametrize("tied", [True, False])
def test_a_bias_stored_under_one_of_its_names_is_read(tied: bool, missing: str) -> None:
    tensors = file_tensors(tied=tied)
    left = BIAS if missing == DECODER_BIAS else DECODER_BIAS
    assert torch.equal(tensors[BIAS], tensors[DECODER_BIAS]) == tied
    del tensors[missing]
    assert torch.equal(read(tensors, tied=tied)["heads.masked_token.bias"], tensors[left])


def test_of_two_biases_that_of_the_matrix_is_used_if_the_head_is_not_tied() -> None:
    tensors = file_tensors(tied=False)
    bias = read(tensors, tied=False)["heads.masked_token.bias"]
    assert torch.equal(bias, tensors[DECODER_BIAS])


def test_a_shorter_context_has_the_first_positions() -> None:
    tensors = file_tensors()
    whole = read(tensors)["base.position.weight"]
    assert torch.equal(read(tensors, context=10)["base.position.weight"], whole[:10])


@pytest.mark.parametrize("rows", [31, 33])
def test_another_number_of_positions_than_configured_is_an_error(rows: int) -> None:
    name = "bert.embeddings.position_embeddings.weight"
    tensors = file_tensors() | {name: torch.zeros(rows, 24)}
    with pytest.raises(MismatchError) as caught:
        read(tensors)
    assert name in str(caught.value.found)
