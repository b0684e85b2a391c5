"""Keys and values that cannot be used: each error names the key and what was found."""

from __future__ import annotations

import pytest

from greffe.config.recipe_files import load_recipe
from greffe.errors import RecipeError


def refused(*changes: str) -> RecipeError:
    """Return the error that `--set` with these changes ends in."""
    with pytest.raises(RecipeError) as caught:
        load_recipe("tiny").with_changes(changes)
    return caught.value


@pytest.mark.parametrize(
    ("change", "key", "meant"),
    [
        ("trian.lr=1", "trian", "train"),
        ("train.zzz=1", "train.zzz", None),
        ("model.width_=64", "model.width_", "model.width"),
        ("objective.rato=0.2", "objective.rato", "objective.ratio"),
        ("model.position.bass=3", "model.position.bass", "model.position.base"),
        ("classification.poller='max'", "classification.poller", "classification.pooler"),
    ],
)
def test_an_unknown_key_is_named_as_written_and_corrected(
    change: str, key: str, meant: str | None
) -> None:
    error = refused(change)
    assert f"unknown key {key!r}" in error.message
    assert error.hint == (f"did you mean {meant!r}?" if meant else None)


def test_an_unknown_key_lists_its_neighbours_only() -> None:
    expected = str(refused("objective.rato=0.2").expected)
    assert "ratio, mask, random, whole_word" in expected
    assert "width" not in expected


def test_a_key_of_another_kind_is_unknown() -> None:
    error = refused("objective.kind='causal'", "objective.ratio=0.2")
    assert "unknown key 'objective.ratio'" in error.message


@pytest.mark.parametrize(
    ("change", "key", "found"),
    [
        ("objective.ratio=1.5", "objective.ratio", "1.5"),
        ("train.lr=0", "train.lr", "0"),
        ("train.lr=nan", "train.lr", "nan"),
        ("train.lr=fast", "train.lr", "'fast'"),
        ("seed=-1", "seed", "-1"),
        ("warm_start=glove", "warm_start", "'glove'"),
        ("tokenizer.vocab=0", "tokenizer.vocab", "0"),
        ("model.norm='both'", "model.norm", "'both'"),
        ("model.position.base=0.5", "model.position.base", "0.5"),
        ("train.freeze='everything'", "train.freeze", "'everything'"),
        ("train.betas=[0.9, 'x']", "train.betas", "'x'"),
        ("model=3", "model", "3"),
    ],
)
def test_a_value_out_of_range_names_key_and_value(change: str, key: str, found: str) -> None:
    error = refused(change)
    assert error.message == f"recipe: {key} cannot be used."
    assert error.found == found
    assert error.expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["model.heads=5"], "width 48 is not divisible by heads 5"),
        (["model.width=60", "model.heads=4"], "even width per head, found 15"),
        (["objective.mask=0.95"], "mask 0.95 + random 0.1 is more than 1"),
        (["train.accumulation=3"], "batch 16 is not divisible by accumulation 3"),
    ],
)
def test_choices_that_contradict_are_named(changes: list[str], message: str) -> None:
    assert message in str(refused(*changes).expected)


def test_an_unknown_kind_lists_the_known_ones() -> None:
    error = refused("objective.kind=maskd")
    assert "objective.kind" in error.message
    assert "masked" in str(error.expected)
    assert error.found == "'maskd'"
    assert error.hint == "did you mean 'masked'?"


def test_a_missing_kind_is_named() -> None:
    error = refused("model.position={base=500.0}")
    assert "model.position.kind is missing" in error.message
    assert "rotary" in str(error.expected)
