"""Option groups as flags of the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner, Result

from greffe.cli import flags
from greffe.cli.train_commands import finetune, pretrain
from greffe.config.field_docs import field_docs
from greffe.config.option_groups import OptionGroup, Without
from greffe.config.options import Comparison, Output, Reading, Tables, TokenizerOptions, Training
from greffe.errors import RecipeError


def invoke(function: Callable[..., None], *words: str) -> Result:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(function)
    return CliRunner().invoke(app, words, env={"COLUMNS": "400"})


@pytest.fixture
def seen() -> dict[str, Any]:
    return {}


@pytest.fixture
def command(seen: dict[str, Any]) -> Callable[..., None]:
    @flags.expand_groups
    def train(
        text: str,
        output: Output,
        training: Annotated[Training, Without("soup")],
        tables: Tables,
        reading: Reading,
        comparison: Comparison,
        fraction: float = 0.1,
    ) -> None:
        """Train something."""
        seen.update(
            output=output,
            training=training,
            tables=tables,
            reading=reading,
            text=text,
            fraction=fraction,
        )
        seen["comparison"] = comparison

    return train


def test_flags_fill_the_groups(command: Callable[..., None], seen: dict[str, Any]) -> None:
    done = invoke(
        command,
        *("a text", "--out", "runs/a", "--resume", "--data", "t.tsv", "--aux-data", "u.tsv"),
        *("--aux-data", "v.tsv", "--set", "train.lr=1", "--set", "seed=2", "--seed", "3"),
        *("--recipe", "tiny", "--documents", "file", "--seeds", "2", "--features-from", "runs/b"),
        *("--arm", "one=runs/c", "--arm", "two=runs/d", "--labels", "50,100,all"),
    )
    assert done.exit_code == 0, done.output
    assert seen["text"] == "a text" and seen["fraction"] == 0.1
    assert seen["output"] == Output(out=Path("runs/a"), resume=True)
    assert seen["tables"] == Tables(data=Path("t.tsv"), aux_data=[Path("u.tsv"), Path("v.tsv")])
    assert seen["training"] == Training(
        recipe=Path("tiny"), seed=3, changes=["train.lr=1", "seed=2"]
    )
    assert seen["reading"] == Reading(documents="file")
    assert seen["comparison"] == Comparison(
        seeds=2,
        feature_runs=[Path("runs/b")],
        arms={"one": Path("runs/c"), "two": Path("runs/d")},
        labels=[50, 100],
    )


def test_defaults_come_from_the_groups(command: Callable[..., None], seen: dict[str, Any]) -> None:
    assert invoke(command, "x", "--out", "o", "--data", "d").exit_code == 0
    assert seen["training"] == Training() and seen["comparison"] == Comparison()
    assert seen["tables"] == Tables(data=Path("d"))


@pytest.mark.parametrize(
    "words",
    [
        ("x", "--data", "d"),
        ("x", "--out", "o", "--data", "d", "--soup", "2"),
        ("x", "--out", "o", "--data", "d", "--seed", "-1"),
        ("x", "--out", "o", "--data", "d", "--documents", "chapter"),
    ],
)
def test_missing_unknown_and_wrong_flags_are_errors(
    command: Callable[..., None], words: tuple[str, ...], seen: dict[str, Any]
) -> None:
    assert invoke(command, *words).exit_code == 2
    assert not seen


@pytest.mark.parametrize(
    ("verb", "groups", "left_out"),
    [
        (
            pretrain,
            (Output, Training, TokenizerOptions, Reading),
            {"soup", "jobs", "label_column"},
        ),
        (finetune, (Tables, Output, Training, Reading), {"test", "objective", "documents"}),
    ],
)
def test_help_texts_are_the_docstrings_of_the_fields(
    verb: Callable[..., None], groups: tuple[type[OptionGroup], ...], left_out: set[str]
) -> None:
    shown = " ".join(invoke(verb, "--help").stdout.split())
    for group in groups:
        for field in fields(group):
            text = field_docs(group)[field.name]
            if field.name in left_out:
                assert text not in shown
            elif field.name != "tokenizer_kind":
                assert text in shown
    assert "--set" in shown and "--changes" not in shown


@pytest.mark.parametrize("words", [("--arm", "nothing"), ("--labels", "50,some")])
def test_values_that_cannot_be_parsed_are_explained(
    command: Callable[..., None], words: tuple[str, ...]
) -> None:
    done = invoke(command, "x", "--out", "o", "--data", "d", *words)
    assert isinstance(done.exception, RecipeError) and words[0] in str(done.exception)
