"""Options of commands: what they read, and their help texts."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from greffe.config import options
from greffe.config.field_docs import field_docs
from greffe.config.option_groups import OptionGroup
from greffe.config.options import Output, parse_arms, parse_label_counts
from greffe.errors import RecipeError


def test_a_folder_is_resumed_or_overwritten() -> None:
    Output(out="run", resume=True)
    Output(out="run", overwrite=True)
    with pytest.raises(RecipeError, match="--resume and --overwrite"):
        Output(out="run", resume=True, overwrite=True)


def test_arms_are_names_with_runs() -> None:
    arms = parse_arms(["causal=runs/causal", "b=a=b"])
    assert arms == {"causal": Path("runs/causal"), "b": Path("a=b")}


@pytest.mark.parametrize("words", [["causal"], ["=runs/a"], ["a="], ["a=b", "a=c"]])
def test_arms_that_cannot_be_read(words: list[str]) -> None:
    with pytest.raises(RecipeError, match="cannot be read"):
        parse_arms(words)


def test_label_counts_are_numbers_beside_all() -> None:
    assert parse_label_counts("50, 100,all") == [50, 100]
    with pytest.raises(RecipeError) as caught:
        parse_label_counts("50,-1,half")
    assert caught.value.found == "'-1', 'half'"


def test_every_field_has_a_help_text() -> None:
    groups = [
        value
        for value in vars(options).values()
        if isinstance(value, type) and issubclass(value, OptionGroup) and value is not OptionGroup
    ]
    assert len(groups) >= 5
    for group in groups:
        docs = field_docs(group)
        assert set(docs) == {field.name for field in fields(group)}
        assert all(text[0].isupper() and text.endswith(".") for text in docs.values())
