"""Question 3: the parameters of a model with its two heads, and the totals that mistakes give.

Each wrong total is computed: from a model of another shape, or from the tensors of the real one
without those that were forgotten. Knows no texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from greffe.config.components import HeadSpec
from greffe.config.recipe import Recipe
from greffe.config.sections import ModelSpec
from greffe.lab.lab_document import Counting, Mistake, MistakeKind, Totals
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import empty_model
from greffe.model.parameters import account
from greffe.model.positions.learned import Learned

PYTORCH_FEED_FORWARD = 2048
"""The default of torch.nn.TransformerEncoderLayer."""
TOY_VOCABULARY = 100


def count_parameters(recipe: Recipe, classes: int = 2) -> Counting:
    """Return the parameters of a recipe's model, by formula and by count, with common mistakes."""
    spec, vocab = recipe.model, recipe.tokenizer.vocab
    heads = _heads(spec.tied, classes)
    counted = account(spec, vocab, heads)
    return Counting(
        recipe=recipe.name,
        vocab=vocab,
        width=spec.width,
        feed_forward=spec.feed_forward,
        layers=spec.layers,
        heads=spec.heads,
        rows=counted.rows,
        targets=_totals(spec, vocab, heads),
        mistakes=_mistakes(spec, vocab, classes),
    )


def _heads(tied: bool, classes: int) -> dict[str, HeadSpec]:
    return {
        "classification": ClassificationHead(classes=classes, pooler="last"),
        "next_token": NextTokenHead(tied=tied),
    }


def _totals(
    spec: ModelSpec,
    vocab: int,
    heads: Mapping[str, HeadSpec],
    times: Callable[[str], int] = lambda _: 1,
) -> Totals:
    """Return sums over the model's tensors; `times` gives how often a tensor is counted."""
    sums = {"base": 0, "heads.classification": 0, "heads.next_token": 0}
    for name, parameter in empty_model(spec, vocab, heads).named_parameters():
        part = next(part for part in sums if name.startswith(f"{part}."))
        sums[part] += parameter.numel() * times(name)
    base = sums["base"]
    return Totals(
        base=base,
        classifier=base + sums["heads.classification"],
        language_model=base + sums["heads.next_token"],
    )


def _mistakes(spec: ModelSpec, vocab: int, classes: int) -> list[Mistake]:
    heads = _heads(spec.tied, classes)
    width, inner, layers = spec.width, spec.feed_forward, spec.layers
    wide, default = 4 * width, PYTORCH_FEED_FORWARD
    rounded = vocab // 1000 * 1000
    blocks = account(spec, vocab, {}).blocks
    layer = next(row.closed for row in blocks if row.block == "one_layer")

    def shaped(**changes: Any) -> Totals:
        return _totals(spec.model_copy(update=changes), vocab, heads)

    def counting(times: Callable[[str], int]) -> Totals:
        return _totals(spec, vocab, heads, times)

    def inner_of(other: int) -> str:
        return f"+ {layers} × ({other:,} − {inner}) × (2 × {width} + 1)"

    def mistake(kind: MistakeKind, formula: str, totals: Totals) -> Mistake:
        return Mistake(kind=kind, formula=formula, totals=totals)

    return [
        mistake(
            "no_biases",
            f"− {layers} × (3 × {width} + {width} + {inner} + {width})",
            counting(lambda name: _is_norm(name) or not _is_bias(name) or "heads." in name),
        ),
        mistake(
            "no_attention_output",
            f"− {layers} × ({width} × {width} + {width})",
            counting(lambda name: "attention.out." not in name),
        ),
        mistake(
            "no_norms",
            f"− {layers} × 2 × 2 × {width}",
            counting(lambda name: not _is_norm(name)),
        ),
        mistake(
            "norms_without_shift",
            f"− {layers} × 2 × {width}",
            counting(lambda name: not (_is_norm(name) and _is_bias(name))),
        ),
        mistake("wide_feed_forward", inner_of(wide), shaped(feed_forward=wide)),
        mistake("default_feed_forward", inner_of(default), shaped(feed_forward=default)),
        mistake("one_layer", f"− {layers - 1} × {layer:,}", shaped(layers=1)),
        mistake(
            "projections_a_head",
            f"+ {layers} × {spec.heads - 1} × 3 × ({width} × {width} + {width})",
            counting(lambda name: spec.heads if ".qkv." in name else 1),
        ),
        mistake("learned_positions", f"+ {spec.context} × {width}", shaped(position=Learned())),
        mistake(
            "round_vocabulary",
            f"− ({vocab:,} − {rounded:,}) × {width}",
            _totals(spec, rounded, heads),
        ),
        mistake(
            "toy_vocabulary",
            f"− ({vocab:,} − {TOY_VOCABULARY}) × {width}",
            _totals(spec, TOY_VOCABULARY, heads),
        ),
        mistake(
            "embedding_twice",
            f"+ {vocab:,} × {width}",
            counting(lambda name: 2 if name == "base.embedding.weight" else 1),
        ),
        mistake("tied_head", f"− {vocab:,} × {width}", _totals(spec, vocab, _heads(True, classes))),
        mistake(
            "head_without_bias",
            f"− {vocab:,}",
            counting(lambda name: not ("heads." in name and _is_bias(name))),
        ),
    ]


def _is_norm(name: str) -> bool:
    return "norm." in name


def _is_bias(name: str) -> bool:
    return name.endswith("bias")
