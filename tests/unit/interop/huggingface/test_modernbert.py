"""ModernBERT in greffe computes what it computes in transformers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.interop.huggingface.same_as_transformers import (
    check_same,
    imported,
    plan_of,
    randomized,
)
from transformers import (
    ModernBertConfig,
    ModernBertForMaskedLM,
    ModernBertForSequenceClassification,
    ModernBertModel,
)

from greffe.errors import InputError
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import Family

CONFIG: dict[str, Any] = {
    "vocab_size": 61,
    "hidden_size": 24,
    "num_hidden_layers": 5,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 128,
    "local_attention": 10,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "cls_token_id": 1,
    "sep_token_id": 2,
}


def config(**changes: Any) -> ModernBertConfig:
    return ModernBertConfig(**{**CONFIG, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_word_embeddings": False, "decoder_bias": False},
        {"attention_bias": True, "mlp_bias": True, "classifier_bias": True, "norm_bias": True},
        {"global_attn_every_n_layers": 2, "local_attention": 7, "norm_eps": 1e-3},
        {"global_attn_every_n_layers": 1},
        {"global_rope_theta": 1000.0, "local_rope_theta": 100.0},
        {"hidden_activation": "silu", "classifier_activation": "gelu_new"},
    ],
)
def test_hidden_states_and_logits_are_the_same(changes: dict[str, Any]) -> None:
    theirs = randomized(ModernBertForMaskedLM(config(**changes)))
    # Rows many times longer than the window.
    own = check_same(theirs, "modernbert", causal=False, head="masked_token", longest=100)
    assert set(own.heads) == {"masked_token"}


def test_a_bare_base_has_no_prefix() -> None:
    theirs = randomized(ModernBertModel(config()))
    own = check_same(theirs, "modernbert", causal=False, head=None, longest=60)
    assert not own.heads
    assert (own.spec.window, own.spec.global_every) == (5, 3)


def test_the_layer_of_a_classifier_is_left_out() -> None:
    theirs = ModernBertForSequenceClassification(config())
    plan = plan_of(theirs.config, "modernbert", theirs.state_dict())
    assert not plan.heads
    assert {name.split(".")[0] for name in plan.left} == {"head", "classifier"}
    assert not imported(theirs, "modernbert").heads


def read(**changes: object) -> dict[str, Any]:
    return Family.registry["modernbert"].model(Config({**CONFIG, **changes}, "config.json"))


def test_older_files_have_other_names() -> None:
    old = read(global_rope_theta=2e5, local_rope_theta=5e3, global_attn_every_n_layers=4)
    assert old["position"] == {"kind": "rotary", "base": 2e5, "local_base": 5e3}
    assert (old["window"], old["global_every"]) == (5, 4)
    assert read(local_rope_theta=None)["position"]["local_base"] == 160_000
    assert read()["position"] == {"kind": "rotary", "base": 160_000, "local_base": 10_000}


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"mlp_bias": True}, "mlp_bias"),
        ({"attention_bias": True}, "mlp_bias"),
        ({"classifier_activation": "mish"}, "classifier_activation"),
        ({"layer_types": ["sliding_attention"] * 5}, "layer_types"),
        ({"layer_types": 3}, "layer_types"),
        ({"global_attn_every_n_layers": 0}, "global_attn_every_n_layers"),
        ({"local_attention": 1}, "local_attention"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, "yarn"),
        ({"rope_parameters": {"full_attention": 3}}, "rope_parameters"),
    ],
)
def test_a_choice_that_greffe_lacks_is_named(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, match="cannot build") as caught:
        read(**changes)
    assert name in str(caught.value)
