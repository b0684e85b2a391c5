"""GPT-2 in greffe computes what it computes in transformers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.unit.interop.huggingface.same_as_transformers import (
    check_same,
    imported,
    plan_of,
    randomized,
)
from transformers import GPT2Config, GPT2ForSequenceClassification, GPT2LMHeadModel, GPT2Model

from greffe.errors import InputError
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import Family

CONFIG: dict[str, Any] = {
    "vocab_size": 61,
    "n_embd": 24,
    "n_layer": 3,
    "n_head": 4,
    "n_positions": 32,
}


def config(**changes: object) -> GPT2Config:
    return GPT2Config(**{**CONFIG, "bos_token_id": 0, "eos_token_id": 0, **changes})


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(
    "changes", [{}, {"n_inner": 40, "activation_function": "gelu", "layer_norm_epsilon": 1e-3}]
)
def test_hidden_states_and_logits_are_the_same(tied: bool, changes: dict[str, Any]) -> None:
    theirs = randomized(GPT2LMHeadModel(config(**changes, tie_word_embeddings=tied)))
    own = check_same(theirs, "gpt2", causal=True, head="next_token", longest=32)
    assert own.spec.tied is tied
    assert own.spec.feed_forward == changes.get("n_inner", 4 * 24)


def test_a_bare_base_has_no_prefix() -> None:
    own = check_same(randomized(GPT2Model(config())), "gpt2", causal=True, head=None)
    assert set(own.heads) == {"next_token"}  # the embedding is its matrix
    untied = randomized(GPT2Model(config(tie_word_embeddings=False)))
    assert not imported(untied, "gpt2").heads


def test_masks_in_older_files_and_a_classifier_are_left_out() -> None:
    theirs = GPT2ForSequenceClassification(config(pad_token_id=0))
    tensors = dict(theirs.state_dict())
    tensors["transformer.h.0.attn.bias"] = torch.ones(1, 1, 32, 32)
    tensors["transformer.h.2.attn.masked_bias"] = torch.tensor(-1e4)
    plan = plan_of(theirs.config, "gpt2", tensors)
    assert set(plan.left) == {
        "score.weight",
        "transformer.h.0.attn.bias",
        "transformer.h.2.attn.masked_bias",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale_attn_weights", False),
        ("scale_attn_by_inverse_layer_idx", True),
        ("add_cross_attention", True),
        ("activation_function", "mish"),
    ],
)
def test_a_choice_that_greffe_lacks_is_named(name: str, value: object) -> None:
    values = {**config().to_dict(), name: value}
    with pytest.raises(InputError, match="cannot build") as caught:
        Family.registry["gpt2"].model(Config(values, "config.json"))
    assert name in str(caught.value.expected)
