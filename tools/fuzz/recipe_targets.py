"""Recipes, and the values that change them: --set and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from greffe.config.options import parse_arms, parse_label_counts
from greffe.config.recipe_files import builtin_recipes, load_recipe
from greffe.config.spans import Span
from greffe.run import RunDirectory
from tools.fuzz.byte_changes import NUMBERS, change_bytes
from tools.fuzz.targets import Action, Target, as_argument, commands, nothing, write_to
from tools.fuzz.tree_changes import change_toml
from tools.fuzz.world import SMALL

RECIPE = "recipe.toml"
SPANS = ("20m", "1h30m", "90s", "2000steps", "3epochs", "50Mtokens", "5%", "1.5ksteps", "2Gtokens")
CHANGES = (
    *("train.lr=3e-4", "model.width=64", "model.position.kind=alibi", "objective.kind=causal"),
    *("train.betas=[0.9, 0.99]", "train.freeze=base", 'name="x"', "model.position={kind='none'}"),
    *("tokenizer.vocab=900", "train.budget=10steps", "seed=3", "model.tied=false"),
)
SIZES = " ".join(f"--set {change}" for change in SMALL)
"""Flags that keep a model small, whatever its recipe asks for."""
WORDS = (*NUMBERS, b"=", b".", b"[", b"{", b"'", b'"', b"kind", b"model", b"train", b"%", b"steps")


def _recipes(world: Path) -> Sequence[bytes]:
    return [load_recipe(name).to_toml().encode() for name in builtin_recipes()]


def _small_recipes(world: Path) -> Sequence[bytes]:
    """Return a small recipe for each objective."""
    kinds = ("masked", "causal", "hybrid", "next_sentence")
    tiny = load_recipe("tiny").with_changes(SMALL)
    changed = [tiny.with_changes([f"objective.kind={kind}"]) for kind in kinds]
    return [recipe.to_toml().encode() for recipe in changed]


def _change_text(random: Random, data: bytes) -> bytes:
    return change_bytes(random, data, WORDS)


def _texts(examples: Sequence[str]) -> list[bytes]:
    return [example.encode() for example in examples]


def _parse_span(data: bytes) -> Sequence[Action]:
    return [lambda: Span.parse(as_argument(data))]


def _apply_change(data: bytes) -> Sequence[Action]:
    """Apply one or more changes; what they make must be writable and readable again."""
    changes = as_argument(data).split("\n")

    def apply() -> None:
        changed = load_recipe("tiny").with_changes(changes)
        run = RunDirectory(".")
        run.write_recipe(changed)
        assert run.recipe() == changed

    return [apply]


def _parse_words(data: bytes) -> Sequence[Action]:
    text = as_argument(data)
    return [lambda: parse_label_counts(text), lambda: parse_arms(text.split("\n"))]


TARGETS = (
    Target(
        name="recipe",
        examples=_recipes,
        change=change_toml,
        place=write_to(RECIPE),
        actions=commands(
            f"show {RECIPE} --json",
            f"show {RECIPE}",
            f"show mask {RECIPE}",
            f"show positions {RECIPE}",
        ),
        weight=6,
    ),
    Target(
        name="recipe-trained",
        examples=_small_recipes,
        change=change_toml,
        place=write_to(RECIPE),
        actions=commands(
            f"pretrain corpus --out out --recipe {RECIPE} --budget 2steps {SIZES}",
            f"finetune --scratch --like base --data train.tsv --out out --recipe {RECIPE} "
            "--budget 2steps --set train.compile=false",
        ),
        parts=("corpus", "base", "train.tsv"),
        weight=2,
    ),
    Target(
        name="change",
        examples=lambda world: _texts(CHANGES),
        change=_change_text,
        place=nothing,
        actions=_apply_change,
        weight=5,
    ),
    Target(
        name="span",
        examples=lambda world: _texts(SPANS),
        change=_change_text,
        place=nothing,
        actions=_parse_span,
        weight=4,
    ),
    Target(
        name="list",
        examples=lambda world: _texts(("50,100,all", "a=runs/a\nb=runs/b")),
        change=_change_text,
        place=nothing,
        actions=_parse_words,
        weight=2,
    ),
)
