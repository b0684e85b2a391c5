"""Number of parameters of a base and its heads, from the shapes alone: nothing is built."""

from __future__ import annotations

from collections.abc import Iterable

from greffe.config.components import Formula, HeadSpec
from greffe.config.sections import ModelSpec

BASE_PARTS = ("embedding", "positions", "all_layers", "final_norm")
"""The rows whose sum is the base; the others are parts of one layer."""


def count_parameters(spec: ModelSpec, vocab: int, heads: Iterable[HeadSpec]) -> int:
    """Return the number of parameters of a base with these heads, by formula alone."""
    base = base_formulas(spec, vocab)
    in_heads = sum(head.parameters(spec.width, vocab)[1] for head in heads)
    return sum(base[part][1] for part in BASE_PARTS) + in_heads


def base_formulas(spec: ModelSpec, vocab: int) -> dict[str, Formula]:
    """Return the formula of each block of the base, in the order of the table."""
    width, inner, layers = spec.width, spec.feed_forward, spec.layers
    qkv = 3 * width * width + 3 * width
    out = width * width + width
    feed_forward = width * inner + inner + inner * width + width
    norms = 2 * 2 * width
    layer = qkv + out + feed_forward + norms
    return {
        "embedding": (f"{vocab:,} × {width}", vocab * width),
        "positions": spec.position.parameters(spec),
        "attention_qkv": (f"3 × ({width} × {width} + {width})", qkv),
        "attention_output": (f"{width} × {width} + {width}", out),
        "feed_forward": (
            f"({width} × {inner} + {inner}) + ({inner} × {width} + {width})",
            feed_forward,
        ),
        "norms": (f"2 × 2 × {width}", norms),
        "one_layer": (f"{qkv:,} + {out:,} + {feed_forward:,} + {norms:,}", layer),
        "all_layers": (f"{layers} × {layer:,}", layers * layer),
        "final_norm": (f"2 × {width}", 2 * width) if spec.norm == "pre" else ("0", 0),
    }
