"""GPT-2, and what has its shape: DistilGPT-2, and many models of one language.

Its linear layers are stored transposed, queries, keys and values already as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface.config import ACTIVATION_NAMES, Config
from greffe.interop.huggingface.family import (
    Family,
    ForeignHead,
    Layout,
    Parts,
    SpecialIds,
    copied,
    linear,
    transposed,
)
from greffe.model.heads.next_token_head import NextTokenHead


class Gpt2(Family):
    """Pre-norm decoder with learned positions."""

    name: ClassVar[str] = "gpt2"
    model_types: ClassVar[tuple[str, ...]] = ("gpt2",)
    objective: ClassVar[Literal["masked", "causal"]] = "causal"
    prefix: ClassVar[str] = "transformer."
    classes: ClassVar[Mapping[str, str]] = {"": "GPT2Model", "next_token": "GPT2LMHeadModel"}

    def model(self, config: Config) -> dict[str, Any]:
        config.require("scale_attn_weights", True)
        config.require("scale_attn_by_inverse_layer_idx", False)
        config.require("add_cross_attention", False)
        width = config.integer("n_embd")
        return {
            "width": width,
            "layers": config.integer("n_layer"),
            "heads": config.integer("n_head"),
            "feed_forward": config.integer("n_inner", 4 * width),
            "context": config.integer("n_positions"),
            "position": {"kind": "learned"},
            "norm": "pre",
            "norm_epsilon": config.number("layer_norm_epsilon", 1e-5),
            "activation": config.activation("activation_function", "gelu_new"),
            "head_bias": False,
            "dropout": config.number("resid_pdrop", 0.1),
            "tied": config.flag("tie_word_embeddings", True),
        }

    def choices(self, model: ModelSpec, special: SpecialIds) -> dict[str, Any]:
        return {
            "n_embd": model.width,
            "n_layer": model.layers,
            "n_head": model.heads,
            "n_inner": model.feed_forward,
            "n_positions": model.context,
            "layer_norm_epsilon": model.norm_epsilon,
            "activation_function": ACTIVATION_NAMES[model.activation],
            "embd_pdrop": model.dropout,
            "resid_pdrop": model.dropout,
            "attn_pdrop": 0.0,
        }

    def layout(self, model: ModelSpec, config: Config) -> Layout:
        return Layout(
            base={
                "embedding.weight": copied("transformer.wte.weight"),
                "position.weight": copied("transformer.wpe.weight"),
                **_blocks(model),
                **linear("final_norm", "transformer.ln_f"),
            },
            heads={"next_token": next_token_head(model)},
            ignored=(
                "transformer.h.*.attn.bias",  # the causal mask, in older files
                "transformer.h.*.attn.masked_bias",
                "score.*",
                "classifier.*",
            ),
        )


def next_token_head(model: ModelSpec) -> ForeignHead:
    """Return the head of a decoder: a matrix without a bias, which may be the embedding."""
    parts: Parts = {} if model.tied else {"weight": copied("lm_head.weight")}
    return ForeignHead(NextTokenHead(tied=model.tied), parts, copies=("lm_head.weight",))


def _blocks(model: ModelSpec) -> Parts:
    parts: Parts = {}
    for number in range(model.layers):
        block, layer = f"blocks.{number}", f"transformer.h.{number}"
        parts |= linear(f"{block}.attention_norm", f"{layer}.ln_1")
        parts |= _transposed_linear(f"{block}.attention.qkv", f"{layer}.attn.c_attn")
        parts |= _transposed_linear(f"{block}.attention.out", f"{layer}.attn.c_proj")
        parts |= linear(f"{block}.feed_forward_norm", f"{layer}.ln_2")
        parts |= _transposed_linear(f"{block}.feed_forward.expand", f"{layer}.mlp.c_fc")
        parts |= _transposed_linear(f"{block}.feed_forward.contract", f"{layer}.mlp.c_proj")
    return parts


def _transposed_linear(target: str, source: str) -> Parts:
    return {
        f"{target}.weight": transposed(f"{source}.weight"),
        f"{target}.bias": copied(f"{source}.bias"),
    }
