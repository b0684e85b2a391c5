"""RoBERTa, CamemBERT and XLM-R in greffe compute what they compute in transformers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.unit.interop.huggingface.same_as_transformers import check_same, imported, randomized
from transformers import (
    CamembertConfig,
    CamembertForMaskedLM,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForSequenceClassification,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from greffe.config.sections import ModelSpec
from greffe.errors import InputError
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import Family

CONFIG: dict[str, Any] = {
    "vocab_size": 61,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 34,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
}


@pytest.mark.parametrize(
    ("config", "model"),
    [
        (RobertaConfig, RobertaForMaskedLM),
        (CamembertConfig, CamembertForMaskedLM),
        (XLMRobertaConfig, XLMRobertaForMaskedLM),
    ],
)
def test_hidden_states_and_logits_are_the_same(config: Any, model: Any) -> None:
    theirs = randomized(model(config(**CONFIG)))
    assert theirs.config.model_type in Family.registry["roberta"].model_types
    own = check_same(theirs, "roberta", causal=False, head="masked_token")
    assert set(own.heads) == {"masked_token"}


def test_the_whole_context_is_two_less_than_the_positions() -> None:
    theirs = randomized(RobertaForMaskedLM(RobertaConfig(**CONFIG)))
    own = check_same(theirs, "roberta", causal=False, head="masked_token", longest=32)
    assert own.spec.context == 32


def test_positions_follow_the_number_of_padding() -> None:
    theirs = randomized(RobertaForMaskedLM(RobertaConfig(**CONFIG, pad_token_id=3)))
    own = check_same(theirs, "roberta", causal=False, head="masked_token", longest=30)
    assert own.spec.context == 30


def test_the_activation_of_the_head_is_always_gelu() -> None:
    theirs = randomized(RobertaForMaskedLM(RobertaConfig(**CONFIG, hidden_act="gelu_new")))
    own = check_same(theirs, "roberta", causal=False, head="masked_token")
    assert (own.spec.activation, own.spec.head_activation) == ("gelu_tanh", "gelu")


def test_a_head_with_a_matrix_of_its_own_is_the_same() -> None:
    config = RobertaConfig(**CONFIG, tie_word_embeddings=False)
    own = check_same(
        randomized(RobertaForMaskedLM(config)), "roberta", causal=False, head="masked_token"
    )
    assert not torch.equal(own.state_dict()["heads.masked_token.weight"], own.base.embedding.weight)


def test_the_pooler_is_the_same() -> None:
    theirs = randomized(RobertaModel(RobertaConfig(**CONFIG)))
    own = check_same(theirs, "roberta", causal=False, head=None)
    ids = torch.randint(5, 61, (2, 9))
    with torch.inference_mode():
        pooled = own(ids, "pooled", causal=False)
        torch.testing.assert_close(pooled, theirs(ids).pooler_output, atol=1e-4, rtol=0)


def test_a_classifier_of_a_fine_tuned_file_is_ignored() -> None:
    theirs = randomized(RobertaForSequenceClassification(RobertaConfig(**CONFIG)))
    assert not imported(theirs, "roberta").heads


def test_what_is_folded_and_cut_is_counted() -> None:
    config = Config({**CONFIG, "pad_token_id": 1}, "config.json")
    family = Family.registry["roberta"]
    model = ModelSpec.model_validate(family.model(config))
    assert family.layout(model, config).folded == {"token types": 24, "unused positions": 2 * 24}
    shorter = model.model_copy(update={"context": 20})
    assert family.layout(shorter, config).folded["unused positions"] == 14 * 24


def test_too_few_positions_are_an_error() -> None:
    config = Config({**CONFIG, "max_position_embeddings": 2}, "config.json")
    with pytest.raises(InputError) as caught:
        Family.registry["roberta"].model(config)
    assert "max_position_embeddings" in str(caught.value.expected)
