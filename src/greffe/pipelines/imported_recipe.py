"""The recipe of an imported base: its shape, and trainings that suit its size.

What suits a base of 3 million weights does not suit one of 110 million. The rules are one table.
"""

from __future__ import annotations

from dataclasses import dataclass

from greffe.config.components import ObjectiveSpec
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import shipped_recipe
from greffe.config.sections import Classification, FinetuneSpec, TokenizerSpec, TrainSpec
from greffe.interop.foreign_base import ForeignBase
from greffe.progress import format_count

SMALL = 10_000_000
"""Weights up to which the choices of the recipe `small` suit a base."""


@dataclass(frozen=True)
class _Rates:
    """Learning rates of a base with at most this many weights."""

    most: float
    finetune: float
    layer_decay: float
    pretrain: float


TABLE = (
    _Rates(most=50e6, finetune=2e-4, layer_decay=1.0, pretrain=2e-4),
    _Rates(most=200e6, finetune=3e-5, layer_decay=0.95, pretrain=1e-4),
    _Rates(most=500e6, finetune=2e-5, layer_decay=0.95, pretrain=5e-5),
    _Rates(most=float("inf"), finetune=1e-5, layer_decay=0.95, pretrain=3e-5),
)


def imported_recipe(base: ForeignBase, name: str, weights: int) -> Recipe:
    """Return a recipe with the shape of a base and defaults for one with this many weights.

    - The learning rate falls with the size: a larger base has seen more text, knows more that a
      high rate would overwrite, and diverges earlier. The values up to 50 million weights were
      measured, see docs/experiments/minilm.md; the others are those of the families' papers.
    - Lower layers of large bases learn a little more slowly: they hold what all texts share.
    - Three epochs, and at least 150 steps: few labels need more epochs than many.
    - A batch is computed in four parts, whose gradients are summed: a fourth of the activations.
    - One training, not the average of several, each of which would cost minutes.
    - The embedding learns at the rate of the rest: it has seen each word far more often than the
      labels show it, unlike that of a base pretrained for minutes.
    - The mean of all tokens, or the last one of a causal base: the first token of a base that
      comes without a task of its own holds little about a text.
    - Up to 10 million weights, the choices of the recipe `small` are kept; of the lab's own base,
      those of the lab.
    """
    is_lab = base.recipe == "lab"
    usual = shipped_recipe(base.recipe)
    finetune, classification, train = usual.finetune, usual.classification, usual.train
    if weights > SMALL and not is_lab:
        rates = next(rates for rates in TABLE if weights <= rates.most)
        finetune = FinetuneSpec(
            budget="3epochs",
            least_steps=150,
            batch=16,
            accumulation=4,
            lr=rates.finetune,
            warmup=0.1,
            layer_decay=rates.layer_decay,
        )
        classification = Classification(dropout=0.1)
        train = TrainSpec(budget="20m", batch=16, accumulation=4, lr=rates.pretrain)
    return Recipe(
        name=name[:255],
        tokenizer=TokenizerSpec(vocab=base.vocab),
        model=base.model,
        objective=ObjectiveSpec.of_kind(base.objective),
        train=train,
        finetune=finetune,
        classification=classification,
    )


def describe_defaults(recipe: Recipe, weights: int) -> str:
    """Return what was chosen for fine-tuning and why, in one line."""
    chosen = recipe.finetune
    soup = f", {chosen.soup} trainings averaged" if chosen.soup > 1 else ""
    parts = f" in {chosen.accumulation} parts" if chosen.accumulation > 1 else ""
    return (
        f"fine-tuning defaults for {format_count(weights)} weights: lr {chosen.lr:g}, "
        f"{chosen.budget}, at least {chosen.least_steps} steps, batch {chosen.batch}{parts}, "
        f"layer_decay {chosen.layer_decay:g}{soup}, context {recipe.model.context}; "
        "--set changes them"
    )
