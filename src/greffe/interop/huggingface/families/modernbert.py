"""ModernBERT: an encoder with rotary positions, most of whose blocks attend to a window."""

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
    rotary_linear,
)
from greffe.interop.huggingface.rope import (
    rope_base,
    rope_parameters,
    rope_table,
    rotary_bases,
)
from greffe.model.heads.masked_token_head import MaskedTokenHead

FULL, LOCAL = "full_attention", "sliding_attention"


class ModernBert(Family):
    """Pre-norm encoder with a norm after the embedding and a gated feed-forward layer."""

    name: ClassVar[str] = "modernbert"
    model_types: ClassVar[tuple[str, ...]] = ("modernbert",)
    objective: ClassVar[Literal["masked", "causal"]] = "masked"
    prefix: ClassVar[str] = "model."
    classes: ClassVar[Mapping[str, str]] = {
        "": "ModernBertModel",
        "masked_token": "ModernBertForMaskedLM",
    }

    def model(self, config: Config) -> dict[str, Any]:
        layers = config.integer("num_hidden_layers")
        window, global_every = _locality(config, layers)
        return {
            "width": config.integer("hidden_size"),
            "layers": layers,
            "heads": config.integer("num_attention_heads"),
            "feed_forward": config.integer("intermediate_size"),
            "context": config.integer("max_position_embeddings", 8192),
            "position": _positions(config),
            "window": window,
            "global_every": global_every,
            "norm": "pre",
            "norm_epsilon": config.number("norm_eps", 1e-5),
            "norm_bias": config.flag("norm_bias", False),
            "embedding_norm": True,
            "activation": config.activation("hidden_activation", "gelu"),
            "gated": True,
            "linear_bias": config.biases("attention_bias", "mlp_bias", "classifier_bias"),
            "head_bias": config.flag("decoder_bias", True),
            "head_activation": config.activation("classifier_activation", "gelu"),
            "dropout": config.number("embedding_dropout", 0.0),
            "tied": config.flag("tie_word_embeddings", True),
        }

    def choices(self, model: ModelSpec, special: SpecialIds) -> dict[str, Any]:
        base, local_base = rotary_bases(model)
        bias = model.linear_bias
        return {
            "hidden_size": model.width,
            "num_hidden_layers": model.layers,
            "num_attention_heads": model.heads,
            "intermediate_size": model.feed_forward,
            "max_position_embeddings": model.context,
            "layer_types": [
                LOCAL if model.is_local(number) else FULL for number in range(model.layers)
            ],
            "rope_parameters": {FULL: rope_table(base), LOCAL: rope_table(local_base)},
            "local_attention": 2 * model.window,
            # For transformers 4.
            "global_attn_every_n_layers": model.global_every if model.window else 1,
            "global_rope_theta": base,
            "local_rope_theta": local_base,
            "norm_eps": model.norm_epsilon,
            "norm_bias": model.norm_bias,
            "hidden_activation": ACTIVATION_NAMES[model.activation],
            **dict.fromkeys(("attention_bias", "mlp_bias", "classifier_bias"), bias),
            "decoder_bias": model.head_bias,
            "classifier_activation": ACTIVATION_NAMES[model.head_activation],
            **dict.fromkeys(("embedding_dropout", "mlp_dropout"), model.dropout),
            "attention_dropout": 0.0,
            "cls_token_id": special.first,
            "sep_token_id": special.last,
        }

    def layout(self, model: ModelSpec, config: Config) -> Layout:
        bias = model.norm_bias
        head = {
            **linear("transform", "head.dense", bias=model.linear_bias),
            **linear("norm", "head.norm", bias=bias),
        }
        if model.head_bias:
            head["bias"] = copied("decoder.bias")
        if not model.tied:
            head["weight"] = copied("decoder.weight")
        return Layout(
            base={
                "embedding.weight": copied("model.embeddings.tok_embeddings.weight"),
                **linear("embedding_norm", "model.embeddings.norm", bias=bias),
                **_blocks(model),
                **linear("final_norm", "model.final_norm", bias=bias),
            },
            heads={
                "masked_token": ForeignHead(
                    MaskedTokenHead(tied=model.tied), head, copies=("decoder.weight",)
                )
            },
            # A classifier has the layer before the matrix too.
            ignored=("head.*", "classifier.*"),
        )


def _positions(config: Config) -> dict[str, Any]:
    """Return rotary positions; a local base of its own for blocks with a window."""
    tables = rope_parameters(config)
    if tables and not {FULL, LOCAL} & tables.keys():
        tables = {FULL: tables, LOCAL: tables}
    theta = config.number("global_rope_theta", 160_000.0)
    of_all = rope_base(config, tables.get(FULL), theta)
    is_shared = "local_rope_theta" in config.values and config.values["local_rope_theta"] is None
    local = of_all if is_shared else config.number("local_rope_theta", 10_000.0)
    near = rope_base(config, tables.get(LOCAL), local)
    return {"kind": "rotary", "base": of_all, "local_base": near}


def _locality(config: Config, layers: int) -> tuple[int, int]:
    """Return the window and the distance of blocks that attend to all tokens."""
    # A window of 128 is 64 tokens on either side.
    window = config.integer("local_attention", 128) // 2
    every = config.integer("global_attn_every_n_layers", 3)
    if config.values.get("layer_types") is not None:
        every = _period(config, layers)
    if every == 0:
        raise config.unsupported("global_attn_every_n_layers", "1 or more")
    if every > 1 and layers > 1 and not window:
        raise config.unsupported("local_attention", "2 or more")
    return (window, every) if every > 1 else (0, 1)


def _period(config: Config, layers: int) -> int:
    """Return which blocks attend to all tokens, given the kind of each block."""
    kinds = config.values["layer_types"]
    for every in range(1, max(layers, 1) + 1):
        if kinds == [LOCAL if number % every else FULL for number in range(layers)]:
            return every
    raise config.unsupported("layer_types", f"{FULL} in every n-th block from the first one on")


def _blocks(model: ModelSpec) -> Parts:
    parts: Parts = {}
    for number in range(model.layers):
        block, layer = f"blocks.{number}", f"model.layers.{number}"
        if number:
            norm = f"{layer}.attn_norm"
            parts |= linear(f"{block}.attention_norm", norm, bias=model.norm_bias)
        bias = model.linear_bias
        parts |= rotary_linear(f"{block}.attention.qkv", model, f"{layer}.attn.Wqkv")
        parts |= linear(f"{block}.attention.out", f"{layer}.attn.Wo", bias=bias)
        parts |= linear(f"{block}.feed_forward_norm", f"{layer}.mlp_norm", bias=model.norm_bias)
        parts |= linear(f"{block}.feed_forward.expand", f"{layer}.mlp.Wi", bias=bias)
        parts |= linear(f"{block}.feed_forward.contract", f"{layer}.mlp.Wo", bias=bias)
    return parts
