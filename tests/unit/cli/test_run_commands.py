"""The verbs that use a run: JSON, tables, calibration."""

from __future__ import annotations

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


def test_calibrate_reports_before_and_after(
    command: Command, classifier: Path, table: Path
) -> None:
    words = ("evaluate", classifier, "--data", table, "--json")
    refused = command(*words, "--calibrated")
    assert refused.code == 3 and f"greffe calibrate {classifier} --data TABLE" in refused.err
    before = json.loads(command(*words).out)
    shown = command("calibrate", classifier, "--data", table)
    found = json.loads(command("calibrate", classifier, "--data", table, "--json").out)
    assert shown.code == 0 and f"temperature {found['temperature']:.3g} from 12 texts" in shown.out
    assert f"{found['log_loss_before']:.4f} → {found['log_loss_after']:.4f}" in shown.out
    after = json.loads(command(*words, "--calibrated").out)
    assert json.loads(command(*words).out) == before
    assert after["accuracy"] == before["accuracy"]
    for name, figure in (("log_loss", "log_loss"), ("calibration_error", "ece")):
        assert before[name] == pytest.approx(found[f"{figure}_before"], abs=1e-6)
        assert after[name] == pytest.approx(found[f"{figure}_after"], abs=1e-6)
    assert f"temperature {found['temperature']:.3g}" in command("show", classifier).out


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


def test_control_characters_reach_no_terminal(
    command: Command, fresh_run: Callable[..., Any], table: Path
) -> None:
    run = fresh_run("colored", ["\x1b[31mred", "blue"]).path
    for words in (("predict", run, "\x1b[2Jtext"), ("show", run)):
        shown = command(*words).out
        assert r"\x1b[31mred" in shown and "\x1b" not in shown
    failed = command("evaluate", run, "--data", table, "--text-column", "\x1b[31m")
    assert failed.code == 2 and "\x1b" not in failed.err
