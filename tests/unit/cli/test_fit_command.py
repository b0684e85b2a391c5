"""The verb fit: its help, its output as JSON and as sentences, its errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from greffe.auto import cross_validate, fit
from greffe.auto.document import FitDocument

Command = Callable[..., Any]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """TF-IDF alone, by two folds."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(cross_validate, "FOLDS", 2)
    monkeypatch.setattr(cross_validate, "FEW_REPEATS", 1)
    monkeypatch.setattr(fit, "choose_bases", lambda *_: [])


def test_help(command: Command) -> None:
    outcome = command("fit", "--help")
    assert outcome.code == 0
    for flag in (
        "--data",
        "--unlabelled",
        "--aux-data",
        "--base",
        "--budget",
        "--resume",
        "--json",
    ):
        assert flag in outcome.out
    for flag in ("--recipe", "--objective", "--valid"):
        assert f" {flag} " not in outcome.out


def test_a_fit_as_json(command: Command, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = command("fit", "--data", table, "--out", out, "--budget", "1m", "--json")
    assert outcome.code == 0, outcome.err
    document = FitDocument.model_validate(json.loads(outcome.out))
    assert document.chosen == ["tfidf"] and document.texts == 12 and document.budget == 60
    assert "plan: TF-IDF" in outcome.err
    predicted = command("predict", out, "Ce livre est beau.")
    assert predicted.code == 0, predicted.err

    again = command("fit", "--data", table, "--out", out, "--resume", "--language", "fr")
    assert again.code == 0 and "already finished" in again.err
    assert "Que faire ensuite" in again.out and "TF-IDF" in again.out
    assert str(out / "report.html") in again.out.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--data", "missing.tsv"), 2, "missing.tsv"),
        (("--data", "{table}", "--budget", "3epochs"), 2, "is a time"),
        (("--data", "{table}", "--aux-data", "{other}"), 2, "other labels"),
        (("--data", "{table}", "--unlabelled", "missing.txt"), 2, "missing.txt"),
        ((), 2, "--data"),
    ],
)
def test_errors_are_messages(
    words: tuple[str, ...], code: int, said: str, command: Command, table: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.tsv"
    other.write_text("neutre\tUn livre.\nneutre\tUn film.\n", "utf-8")
    filled = [word.format(table=table, other=other) for word in words]
    outcome = command("fit", *filled, "--out", tmp_path / "out")
    assert outcome.code == code
    assert said in outcome.err and "Traceback" not in outcome.err
    assert outcome.out == "" and not (tmp_path / "out").exists()
