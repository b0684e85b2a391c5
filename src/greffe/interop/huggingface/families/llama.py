"""Llama, and small models of its shape: SmolLM, TinyStories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface.config import ACTIVATION_NAMES, Config
from greffe.interop.huggingface.families.gpt2 import next_token_head
from greffe.interop.huggingface.family import (
    Family,
    Layout,
    Parts,
    SpecialIds,
    copied,
    linear,
    rotary_linear,
    stacked_linear,
)
from greffe.interop.huggingface.rope import (
    rope_base,
    rope_parameters,
    rope_table,
    rotary_bases,
)


class Llama(Family):
    """Pre-norm decoder with rotary positions, RMS norms and a gated feed-forward layer."""

    name: ClassVar[str] = "llama"
    model_types: ClassVar[tuple[str, ...]] = ("llama",)
    objective: ClassVar[Literal["masked", "causal"]] = "causal"
    prefix: ClassVar[str] = "model."
    classes: ClassVar[Mapping[str, str]] = {"": "LlamaModel", "next_token": "LlamaForCausalLM"}

    def model(self, config: Config) -> dict[str, Any]:
        width = config.integer("hidden_size")
        heads = config.integer("num_attention_heads")
        kv_heads = config.integer("num_key_value_heads", heads)
        if heads and width % heads == 0:
            config.require("head_dim", width // heads)
        theta = config.number("rope_theta", 10_000.0)
        return {
            "width": width,
            "layers": config.integer("num_hidden_layers"),
            "heads": heads,
            "kv_heads": 0 if kv_heads == heads else kv_heads,
            "feed_forward": config.integer("intermediate_size"),
            "context": config.integer("max_position_embeddings", 2048),
            "position": {
                "kind": "rotary",
                "base": rope_base(config, rope_parameters(config), theta),
            },
            "norm": "pre",
            "norm_kind": "rms",
            "norm_epsilon": config.number("rms_norm_eps", 1e-6),
            "norm_bias": False,
            "activation": config.activation("hidden_act", "silu"),
            "gated": True,
            "linear_bias": config.biases("attention_bias", "mlp_bias"),
            "head_bias": False,
            "tied": config.flag("tie_word_embeddings", False),
        }

    def choices(self, model: ModelSpec, special: SpecialIds) -> dict[str, Any]:
        base, _ = rotary_bases(model)
        return {
            "hidden_size": model.width,
            "num_hidden_layers": model.layers,
            "num_attention_heads": model.heads,
            "num_key_value_heads": model.kv_heads or model.heads,
            "head_dim": model.head_width,
            "intermediate_size": model.feed_forward,
            "max_position_embeddings": model.context,
            "rope_theta": base,  # for transformers 4
            "rope_parameters": rope_table(base),
            "rms_norm_eps": model.norm_epsilon,
            "hidden_act": ACTIVATION_NAMES[model.activation],
            "attention_bias": model.linear_bias,
            "mlp_bias": model.linear_bias,
        }

    def layout(self, model: ModelSpec, config: Config) -> Layout:
        return Layout(
            base={
                "embedding.weight": copied("model.embed_tokens.weight"),
                **_blocks(model),
                "final_norm.weight": copied("model.norm.weight"),
            },
            heads={"next_token": next_token_head(model)},
            ignored=("model.*rotary_emb.inv_freq", "score.*"),
        )


def _blocks(model: ModelSpec) -> Parts:
    parts: Parts = {}
    bias = model.linear_bias
    for number in range(model.layers):
        block, layer = f"blocks.{number}", f"model.layers.{number}"
        attention, fed = f"{layer}.self_attn", f"{layer}.mlp"
        names = [f"{attention}.{name}_proj" for name in ("q", "k", "v")]
        parts |= linear(f"{block}.attention_norm", f"{layer}.input_layernorm", bias=False)
        parts |= rotary_linear(f"{block}.attention.qkv", model, *names)
        parts |= linear(f"{block}.attention.out", f"{attention}.o_proj", bias=bias)
        norm = f"{layer}.post_attention_layernorm"
        parts |= linear(f"{block}.feed_forward_norm", norm, bias=False)
        expand = f"{block}.feed_forward.expand"
        parts |= stacked_linear(expand, f"{fed}.gate_proj", f"{fed}.up_proj", bias=bias)
        parts |= linear(f"{block}.feed_forward.contract", f"{fed}.down_proj", bias=bias)
    return parts
