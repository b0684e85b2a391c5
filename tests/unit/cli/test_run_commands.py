"""The verbs that use a run: formats, standard input, JSON, notices."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def test_evaluate_as_json_and_as_tables(command: Command, classifier: Path, table: Path) -> None:
    words = ("evaluate", classifier, "--data", table)
    result = json.loads(command(*words, "--json").out)
    assert result["examples"] == 12
    assert sum(map(sum, result["confusion"])) == 12
    assert {"accuracy", "macro_f1", "log_loss", "calibration_error", "per_class"} <= result.keys()
    shown = command(*words).out
    assert f"{result['accuracy']:.2%}" in shown and "Confusion" in shown


def test_predict_reads_standard_input(
    command: Command, classifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"un\ndeux\n")))
    outcome = command("predict", classifier, "--format", "jsonl")
    assert [set(json.loads(line)) for line in outcome.out.splitlines()] == [
        {"label", "score", "probabilities"}
    ] * 2


def test_predict_without_standard_input_is_an_error(
    command: Command, classifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = io.TextIOWrapper(io.BytesIO())
    closed.close()
    for stdin in (None, closed):
        monkeypatch.setattr("sys.stdin", stdin)
        outcome = command("predict", classifier)
        assert outcome.code == 2
        assert "no standard input" in outcome.err


def test_many_predictions_are_several_tables(
    command: Command, classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greffe.cli.predict_command.TABLE_ROWS", 3)
    monkeypatch.setattr("greffe.data.tables.BLOCK_TEXTS", 2)
    texts = [f"livre {number}" for number in range(8)]
    (tmp_path / "a.txt").write_text("\n".join(texts), "utf-8")
    shown = command("predict", classifier, "--input", tmp_path / "a.txt").out
    assert shown.count("label") == 3
    assert [line for line in texts if line in shown] == texts


def test_predict_as_csv_and_table(command: Command, classifier: Path) -> None:
    outcome = command("predict", classifier, "un livre", "autre", "--format", "csv")
    header, *rows = csv.reader(io.StringIO(outcome.out))
    assert header == ["label", "score", "négatif", "positif"]
    assert len(rows) == 2
    assert float(rows[0][2]) + float(rows[0][3]) == pytest.approx(1)
    assert "un livre" in command("predict", classifier, "un livre").out


def test_predict_prints_a_notice_about_cut_texts(command: Command, classifier: Path) -> None:
    words = ("predict", classifier, "livre " * 100 + "beau " * 100, "--format", "jsonl")
    windows, cut = command(*words), command(*words, "--long", "cut")
    assert "cut" not in windows.err
    assert "1 text was longer" in cut.err
    assert json.loads(cut.out)["score"] != json.loads(windows.out)["score"]


def test_generate_is_the_same_for_a_seed(command: Command) -> None:
    words = ("generate", "greffe-fr", "Bonjour les", "--tokens", 12)
    first, second = (command(*words, "--seed", 1).out for _ in range(2))
    assert first == second
    assert first.startswith("Bonjour les")
    assert command(*words, "--seed", 2).out != first


def test_fill_prints_words_and_json(command: Command) -> None:
    words = ("fill", "greffe-fr", "Ce livre est <mask>.", "--top", 3)
    (gap,) = json.loads(command(*words, "--json").out)
    probabilities = [one["probability"] for one in gap]
    assert len(gap) == 3 and probabilities == sorted(probabilities, reverse=True)
    shown = command(*words).out
    assert all(one["word"] in shown for one in gap)


@pytest.mark.parametrize("texts", [(), ("un livre",)])
def test_an_empty_input_is_not_standard_input(
    command: Command, classifier: Path, monkeypatch: pytest.MonkeyPatch, texts: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"un\ndeux\n")))
    outcome = command("predict", classifier, *texts, "--input", "")
    assert outcome.code == 2 and outcome.out == ""


def test_control_characters_reach_no_terminal(
    command: Command, fresh_run: Callable[..., Any], table: Path
) -> None:
    run = fresh_run("colored", ["\x1b[31mred", "blue"]).path
    for words in (("predict", run, "\x1b[2Jtext"), ("show", run)):
        shown = command(*words).out
        assert r"\x1b[31mred" in shown and "\x1b" not in shown
    failed = command("evaluate", run, "--data", table, "--text-column", "\x1b[31m")
    assert failed.code == 2 and "\x1b" not in failed.err
