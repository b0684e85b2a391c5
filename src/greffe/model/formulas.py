"""Number of parameters of a base and its heads, from the shapes alone: nothing is built."""

from __future__ import annotations

from collections.abc import Iterable

from greffe.config.components import Formula, HeadSpec
from greffe.config.sections import ModelSpec, TrainSpec

BASE_PARTS = (
    *("embedding", "positions", "embedding_norm", "embedding_projection"),
    *("all_layers", "final_norm"),
)
"""The rows whose sum is the base, where it has them; the others are parts of one layer."""


def count_parameters(spec: ModelSpec, vocab: int, heads: Iterable[HeadSpec]) -> int:
    """Return the number of parameters of a base with these heads, by formula alone."""
    base = base_formulas(spec, vocab)
    in_heads = sum(head.parameters(spec, vocab)[1] for head in heads)
    return sum(base[part][1] for part in BASE_PARTS if part in base) + in_heads


def base_formulas(spec: ModelSpec, vocab: int) -> dict[str, Formula]:
    """Return the formula of each block of the base, in the order of the table."""
    token_width, layers = spec.token_width, spec.layers
    layer = layer_formulas(spec)
    one = sum(value for _, value in layer.values())
    every = (f"{layers} × {one:,}", layers * one)
    if spec.skips_first_norm and layers:
        _, skipped = norm_formula(spec, spec.width)
        every = (f"{every[0]} - {skipped}", every[1] - skipped)
    rows: dict[str, Formula] = {
        "embedding": (f"{vocab:,} × {token_width}", vocab * token_width),
        "positions": spec.position.parameters(spec),
    }
    if spec.embedding_norm:
        rows["embedding_norm"] = norm_formula(spec, token_width)
    if spec.embedding_width:
        rows["embedding_projection"] = linear_formula(token_width, spec.width, bias=True)
    rows |= layer
    rows["one_layer"] = (" + ".join(f"{value:,}" for _, value in layer.values()), one)
    rows["all_layers"] = every
    rows["final_norm"] = norm_formula(spec, spec.width) if spec.norm == "pre" else ("0", 0)
    return rows


def layer_formulas(spec: ModelSpec) -> dict[str, Formula]:
    """Return the formula of each part of one layer."""
    width, inner, bias = spec.width, spec.feed_forward, spec.linear_bias
    query, query_value = linear_formula(width, width, bias=bias)
    other, other_value = linear_formula(width, spec.kv_width, bias=bias)
    is_shared = spec.kv_width != width
    qkv = f"({query}) + 2 × ({other})" if is_shared else f"3 × ({query})"
    expand, expand_value = linear_formula(width, inner, bias=bias)
    expand = f"2 × ({expand})" if spec.gated else f"({expand})"
    contract, contract_value = linear_formula(inner, width, bias=bias)
    norm, norm_value = norm_formula(spec, width)
    return {
        "attention_qkv": (qkv, query_value + 2 * other_value),
        "attention_output": linear_formula(width, width, bias=bias),
        "feed_forward": (
            f"{expand} + ({contract})",
            (2 if spec.gated else 1) * expand_value + contract_value,
        ),
        "norms": (f"2 × {norm}", 2 * norm_value),
    }


def lora_formulas(spec: ModelSpec, train: TrainSpec) -> dict[str, Formula]:
    """Return the formula of the adapters of each target, in all blocks that are trained."""
    rank, blocks = train.lora.rank, train.adapted_blocks(spec.layers)
    return {
        target: (f"{blocks} × {rank} × ({inputs} + {outputs})", blocks * rank * (inputs + outputs))
        for target, (inputs, outputs) in train.lora.shapes(spec).items()
    }


def lora_formula(
    spec: ModelSpec, vocab: int, heads: Iterable[HeadSpec], train: TrainSpec
) -> Formula:
    """Return the number of parameters that LoRA trains: those of the adapters and of the heads."""
    adapters = lora_formulas(spec, train)
    in_heads = sum(head.parameters(spec, vocab)[1] for head in heads)
    parts = [f"{formula} ({target})" for target, (formula, _) in adapters.items()]
    value = sum(value for _, value in adapters.values())
    return " + ".join([*parts, f"{in_heads:,} (heads)"]), value + in_heads


def linear_formula(inputs: int, outputs: int, *, bias: bool) -> Formula:
    """Return the number of parameters of a linear layer."""
    formula = f"{inputs} × {outputs}"
    value = inputs * outputs
    return (f"{formula} + {outputs}", value + outputs) if bias else (formula, value)


def norm_formula(spec: ModelSpec, width: int) -> Formula:
    """Return the number of parameters of a normalization: a weight and, if it has one, a bias."""
    has_bias = spec.norm_kind == "layer" and spec.norm_bias
    return (f"2 × {width}", 2 * width) if has_bias else (f"{width}", width)
