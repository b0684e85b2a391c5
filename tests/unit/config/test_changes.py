"""`--set section.key=value`."""

from __future__ import annotations

import pytest

from greffe.config.recipe_files import load_recipe
from greffe.config.sections import TokenizerSpec
from greffe.errors import RecipeError
from greffe.model.positions.learned import Learned
from greffe.model.positions.rotary import Rotary
from greffe.objectives.hybrid import Hybrid


def test_set_reads_toml_values_and_plain_words() -> None:
    changed = load_recipe("tiny").with_changes(
        [
            "train.lr=3e-4",
            "train.budget=3epochs",
            "train.schedule = 'linear'",
            "train.betas=[0.8, 0.9]",
            "train.compile=true",
            "train.freeze=base",
            'name="a=b"',
        ]
    )
    assert changed.train.lr == 3e-4
    assert (changed.train.budget, changed.train.schedule) == ("3epochs", "linear")
    assert changed.train.betas == (0.8, 0.9)
    assert (changed.train.compile, changed.train.freeze) == (True, "base")
    assert changed.name == "a=b"


def test_set_leaves_everything_else_and_the_original_alone() -> None:
    recipe = load_recipe("tiny")
    changed = recipe.with_changes(["train.lr=0.5"])
    assert changed.train.lr == 0.5 != recipe.train.lr
    assert changed.with_changes([f"train.lr={recipe.train.lr}"]) == recipe


def test_set_of_a_kind_keeps_what_both_kinds_know() -> None:
    recipe = load_recipe("tiny").with_changes(["objective.ratio=0.3", "model.position.base=500"])
    assert recipe.model.position == Rotary(base=500)
    changed = recipe.with_changes(["objective.kind=hybrid", "model.position.kind=learned"])
    assert changed.objective == Hybrid(ratio=0.3)
    assert changed.model.position == Learned()
    # In whatever order they come, and for sections that have a kind but one set of keys too.
    mixed = recipe.with_changes(["objective.causal_fraction=0.25", "objective.kind=hybrid"])
    assert mixed.objective == Hybrid(ratio=0.3, causal_fraction=0.25)
    sized = recipe.with_changes(["tokenizer.vocab=8000", "tokenizer.kind=unigram"])
    assert sized.tokenizer == TokenizerSpec(kind="unigram", vocab=8000)


def test_set_of_the_same_kind_keeps_its_choices() -> None:
    recipe = load_recipe("tiny").with_changes(["objective.ratio=0.3"])
    assert recipe.with_changes(["objective.kind=masked"]) == recipe


def test_set_takes_a_whole_component() -> None:
    changed = load_recipe("tiny").with_changes(["objective={kind='hybrid', causal_fraction=0.25}"])
    assert changed.objective == Hybrid(causal_fraction=0.25)


@pytest.mark.parametrize("change", ["train.lr", "=3", " =3", ""])
def test_set_without_key_or_value_cannot_be_read(change: str) -> None:
    with pytest.raises(RecipeError, match="cannot be read"):
        load_recipe("tiny").with_changes([change])


@pytest.mark.parametrize(
    "change",
    [
        ".=1",
        "train..lr=1",
        pytest.param("a." * 100_000 + "a=1", id="many parts"),
        pytest.param("name=" + "x" * 10**7, id="ten megabytes"),
    ],
)
def test_set_with_a_path_or_value_that_no_recipe_has_cannot_be_read(change: str) -> None:
    with pytest.raises(RecipeError, match="cannot be read") as caught:
        load_recipe("tiny").with_changes([change])
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "change",
    [
        "objective.kind=[1]",
        "objective.kind={a=1}",
        "objective.kind.kind=1",
        "model.position=3",
        "a.b.c.d=1",
        "train=1",
        "train=[1]",
        "seed=1979-05-27",
        "train.lr=1\nseed=5",
        pytest.param("seed=" + "9" * 5000, id="thousands of digits"),
        pytest.param("seed=" + "[" * 50_000, id="deep list"),
        pytest.param("seed=" + "{a=" * 20_000, id="deep table"),
        pytest.param("name=" + "x" * 300, id="long name"),
    ],
)
def test_set_of_a_value_that_the_key_does_not_take(change: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe("tiny").with_changes([change])
    assert len(str(caught.value)) < 1000
