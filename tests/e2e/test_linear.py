"""greffe linear and ensemble: fitted, shown, evaluated and used from the command line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import greffe
from greffe.model.weights import base_hash
from greffe.progress import quiet

KINDS = ["tfidf", "stacked", "runs", "runs_alone"]
TEXTS = ["Un roman magnifique.", "Une fin ridicule et insipide."]


@pytest.fixture(scope="module")
def made(world: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("stacked")
    with quiet():
        greffe.linear(world.train, folder / "tfidf")
        greffe.linear(world.train, folder / "stacked", base=world.base)
        feature_runs = [world.classifier, folder / "tfidf"]
        greffe.linear(world.valid, folder / "runs", base=world.base, feature_runs=feature_runs)
        greffe.linear(world.valid, folder / "runs_alone", feature_runs=feature_runs, tfidf=False)
    return {kind: folder / kind for kind in KINDS}


def test_it_prints_what_it_chose(world: Any, command: Callable[..., Any], tmp_path: Path) -> None:
    done = command("linear", "--data", world.train, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert done.out == "" and "C = " in done.err and "cross-validated accuracy" in done.err
    again = command("linear", "--data", world.train, "--out", tmp_path / "run")
    assert again.code == 3 and "--overwrite" in again.err
    stacked = command(
        *("linear", "--data", world.train, "--from", world.base, "--no-tfidf", "--seed", "2"),
        *("--out", tmp_path / "run", "--overwrite"),
    )
    assert stacked.code == 0, stacked.err
    tuned = command(
        *("linear", "--data", world.train, "--from", world.classifier, "--no-tfidf"),
        *("--out", tmp_path / "tuned"),
    )
    assert tuned.code == 0 and "is optimistic" in tuned.err and "is optimistic" not in stacked.err
    neither = command("linear", "--data", world.train, "--no-tfidf", "--out", tmp_path / "x")
    assert neither.code == 2 and "--from" in neither.err


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_used_like_any_classifier(
    kind: str, made: dict[str, Path], world: Any, command: Callable[..., Any]
) -> None:
    run = made[kind]
    evaluated = command("evaluate", run, "--data", world.valid, "--json")
    assert evaluated.code == 0, evaluated.err
    assert json.loads(evaluated.out)["examples"] == 12
    lines = command("predict", run, *TEXTS, "--format", "jsonl")
    assert lines.code == 0, lines.err
    rows = [json.loads(line) for line in lines.out.splitlines()]
    labels = greffe.load(run).labels
    for row in rows:
        assert list(row["probabilities"]) == labels and row["label"] in labels
        assert sum(row["probabilities"].values()) == pytest.approx(1)
        assert row["score"] == max(row["probabilities"].values())
    table = command("predict", run, *TEXTS, "--format", "csv")
    assert [line["label"] for line in csv.DictReader(io.StringIO(table.out))] == [
        row["label"] for row in rows
    ]
    assert command("predict", run, *TEXTS).code == 0


@pytest.mark.parametrize("kind", KINDS)
def test_python_and_the_command_agree(kind: str, made: dict[str, Path], world: Any) -> None:
    run = greffe.load(made[kind])
    found = run.predict(TEXTS)
    assert [list(one.probabilities) for one in found] == [run.labels] * 2
    streamed = list(run.stream_predictions(iter(TEXTS)))
    assert streamed == found
    scored = run.evaluate([(text, one.label) for text, one in zip(TEXTS, found, strict=True)])
    assert scored.accuracy == 1.0
    probabilities = np.array([list(one.probabilities.values()) for one in found])
    np.testing.assert_array_equal(probabilities, run.linear.probabilities(TEXTS))


@pytest.mark.parametrize("kind", KINDS)
def test_show_describes_it(kind: str, made: dict[str, Path], command: Callable[..., Any]) -> None:
    shown = command("show", made[kind])
    assert shown.code == 0, shown.err
    assert "linear" in shown.out and "accuracy" in shown.out
    as_json = command("show", made[kind], "--json")
    assert as_json.code == 0, as_json.err
    assert json.loads(as_json.out)["run"]["kind"] == "linear"


def test_show_names_the_feature_runs(made: dict[str, Path], command: Callable[..., Any]) -> None:
    shown = command("show", made["runs_alone"])
    assert str(made["tfidf"]) in shown.out.replace("\n", "")
    assert "its feature runs" in shown.out and "TF-IDF of words" not in shown.out
    assert "TF-IDF of words" in command("show", made["tfidf"]).out


def test_feature_runs_from_the_command_line(
    world: Any, made: dict[str, Path], command: Callable[..., Any], tmp_path: Path
) -> None:
    done = command(
        *("linear", "--data", world.valid, "--features-from", made["stacked"]),
        *("--features-from", world.classifier, "--out", tmp_path / "run"),
    )
    assert done.code == 0, done.err
    assert "predict with feature runs" in done.err and "is optimistic" not in done.err
    assert greffe.load(tmp_path / "run").linear.settings.run_columns == [2, 2]
    again = command(
        *("linear", "--data", world.valid, "--features-from", tmp_path / "run", "--no-tfidf"),
        *("--out", tmp_path / "again"),
    )
    assert again.code == 0 and "is optimistic" in again.err, again.err
    predicted = command("predict", tmp_path / "again", *TEXTS, "--format", "jsonl")
    assert predicted.code == 0 and len(predicted.out.splitlines()) == 2
    unlabelled = command(
        *("linear", "--data", world.valid, "--features-from", world.base, "--out", tmp_path / "x")
    )
    assert unlabelled.code == 3 and "predicts no labels" in unlabelled.err
    missing = command(
        *("linear", "--data", world.valid, "--features-from", "missing", "--out", tmp_path / "x")
    )
    assert missing.code == 3 and "missing" in missing.err
    own = command(
        *("linear", "--data", world.valid, "--features-from", tmp_path / "run"),
        *("--out", tmp_path / "run", "--overwrite"),
    )
    assert own.code == 3 and "which this command reads" in own.err


def test_a_report_shows_a_run_with_feature_runs(
    made: dict[str, Path], command: Callable[..., Any], tmp_path: Path
) -> None:
    done = command("report", made["runs"], "--out", tmp_path / "report")
    assert done.code == 0, done.err


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [("generate", "Bonjour"), ("fill", "Un <mask>.")])
def test_it_generates_no_text(
    kind: str, words: tuple[str, str], made: dict[str, Path], command: Callable[..., Any]
) -> None:
    verb, text = words
    refused = command(verb, made[kind], text)
    assert refused.code in (2, 3)
    assert refused.err.startswith("error: ") and "next:" in refused.err


def test_tfidf_alone_cannot_be_trained_on(
    made: dict[str, Path], world: Any, command: Callable[..., Any], tmp_path: Path
) -> None:
    tuned = command(
        "finetune", "--from", made["tfidf"], "--data", world.train, "--out", tmp_path / "a"
    )
    assert tuned.code == 3 and "no base" in tuned.err
    pretrained = command("pretrain", world.text, "--from", made["tfidf"], "--out", tmp_path / "b")
    assert pretrained.code == 3 and "no base" in pretrained.err
    stacked = command(
        "linear", "--from", made["tfidf"], "--data", world.train, "--out", tmp_path / "c"
    )
    assert stacked.code == 3 and "no base" in stacked.err
    drawn = command("show", "mask", made["tfidf"])
    assert drawn.code == 3 and "no base" in drawn.err


def test_the_base_of_a_stacked_run_can_be_trained_again(
    made: dict[str, Path], world: Any, command: Callable[..., Any], tmp_path: Path
) -> None:
    tuned = command(
        *("finetune", "--from", made["stacked"], "--data", world.train, "--valid", world.valid),
        *("--budget", "2steps", "--set", "train.threads=1", "--out", tmp_path / "a"),
    )
    assert tuned.code == 0, tuned.err
    lineage = greffe.load(tmp_path / "a").manifest().lineage
    parent = greffe.load(world.base)
    assert lineage.initial_base == base_hash(parent.model)
    pretrained = command(
        *("pretrain", world.corpus, "--from", made["stacked"], "--budget", "2steps"),
        *("--set", "train.threads=1", "--out", tmp_path / "b"),
    )
    assert pretrained.code == 0, pretrained.err


def test_an_ensemble_of_a_transformer_and_a_linear_model(command, made, world, tmp_path):
    out = tmp_path / "both"
    done = command("ensemble", world.classifier, made["tfidf"], "--out", out)
    assert done.code == 0, done.err
    assert "2 runs" in done.err
    evaluated = command("evaluate", out, "--data", world.valid)
    assert evaluated.code == 0, evaluated.err
    assert "accuracy" in evaluated.out
    alone = [
        greffe.load(path).predict(["Un roman."])[0] for path in (world.classifier, made["tfidf"])
    ]
    both = greffe.load(out).predict(["Un roman."])[0]
    low, high = sorted(prediction.probabilities[both.label] for prediction in alone)
    assert low - 1e-6 <= both.probabilities[both.label] <= high + 1e-6
    stacked = command("linear", "--from", out, "--data", world.train, "--out", tmp_path / "x")
    assert stacked.code != 0
    assert "Traceback" not in stacked.err
    again = greffe.ensemble([world.classifier, made["tfidf"]], tmp_path / "python")
    assert again.predict(["Un roman."])[0] == both
