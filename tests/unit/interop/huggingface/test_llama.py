"""Llama in greffe computes what it computes in transformers."""

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
from transformers import LlamaConfig, LlamaForCausalLM, LlamaModel

from greffe.errors import InputError, MismatchError
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import Family
from greffe.model.positions.rotary import Rotary

CONFIG: dict[str, Any] = {
    "vocab_size": 61,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 40,
    "max_position_embeddings": 96,
}


def config(**changes: Any) -> LlamaConfig:
    return LlamaConfig(**{**CONFIG, **changes})


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_hidden_states_and_logits_are_the_same(tied: bool, kv_heads: int) -> None:
    theirs = LlamaForCausalLM(config(tie_word_embeddings=tied, num_key_value_heads=kv_heads))
    own = check_same(randomized(theirs), "llama", causal=True, head="next_token", longest=90)
    assert own.spec.tied is tied
    assert own.spec.kv_heads == (0 if kv_heads == 4 else kv_heads)


@pytest.mark.parametrize(
    "changes",
    [
        {"rms_norm_eps": 1e-2},
        {"attention_bias": True, "mlp_bias": True},
        {"hidden_act": "gelu"},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
    ],
)
def test_choices_are_read(changes: dict[str, Any]) -> None:
    theirs = randomized(LlamaForCausalLM(config(**changes)))
    check_same(theirs, "llama", causal=True, head="next_token", longest=90)


def test_a_bare_base_has_no_prefix() -> None:
    own = check_same(randomized(LlamaModel(config())), "llama", causal=True, head=None)
    assert not own.heads  # its matrix is not the embedding
    tied = randomized(LlamaModel(config(tie_word_embeddings=True)))
    assert set(imported(tied, "llama").heads) == {"next_token"}


def read(**changes: object) -> dict[str, Any]:
    values = {**CONFIG, "model_type": "llama", **changes}
    return Family.registry["llama"].model(Config(values, "config.json"))


def test_older_files_have_the_base_of_positions_elsewhere() -> None:
    assert read(rope_theta=1e5, rope_scaling=None)["position"]["base"] == 1e5
    assert read()["position"]["base"] == 10_000
    assert Rotary(**read(rope_theta=1e5)["position"]) == Rotary(base=1e5)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "linear"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5}}, "llama3"),
        ({"partial_rotary_factor": 0.5}, "0.5"),
        ({"rope_theta": 0.5}, "rope_theta"),
        ({"rope_parameters": [1]}, "rope_parameters"),
        ({"head_dim": 16}, "head_dim"),
        ({"attention_bias": True}, "mlp_bias"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"hidden_act": "mish"}, "hidden_act"),
    ],
)
def test_a_choice_that_greffe_lacks_is_named(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match="cannot build") as caught:
        read(**changes)
    assert word in str(caught.value)


def test_frequencies_in_older_files_are_left_out() -> None:
    tensors = dict(LlamaForCausalLM(config()).state_dict())
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)
    plan = plan_of(config(), "llama", tensors)
    assert plan.left == ["model.layers.0.self_attn.rotary_emb.inv_freq"]


def test_tensors_that_do_not_fit_are_named() -> None:
    tensors = dict(LlamaForCausalLM(config()).state_dict())
    name = "model.layers.1.self_attn.k_proj.weight"
    with pytest.raises(MismatchError) as caught:
        plan_of(config(), "llama", {**tensors, name: torch.ones(8, 32)})
    assert name in str(caught.value.found)
    tensors.pop("model.layers.2.mlp.up_proj.weight")
    with pytest.raises(MismatchError, match=r"2\.mlp\.up_proj\.weight is missing"):
        plan_of(config(), "llama", tensors)
