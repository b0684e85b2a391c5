"""Calibrating a finished run: what is recorded, what it changes, and which runs are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

import greffe
from greffe.data.tables import Example
from greffe.errors import DataError, RunBusyError, RunError
from greffe.inference.predict import classify_logits
from greffe.output_folder import LOCK_FILE
from greffe.progress import quiet
from greffe.run import RUN_FILE, RunDirectory
from greffe.samples.toy import toy_reviews

LABELS = ["négatif", "positif"]
TABLE = [Example(text, label) for label, text in toy_reviews(24, seed=3)]
TEXTS = ["Ce livre est beau.", "", "Le film était très long, hélas. " * 20]


@pytest.fixture
def run(fresh_run: Callable[..., RunDirectory]) -> greffe.Run:
    """A classifier with fresh weights, which is right about half of the texts."""
    return greffe.load(fresh_run("classifier", LABELS).path, precision="fp32")


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory) -> greffe.Run:
    with quiet():
        return greffe.linear(TABLE, tmp_path_factory.mktemp("linear") / "run")


def test_the_manifest_gets_the_temperature_and_nothing_else(run: greffe.Run) -> None:
    before = {path.name: path.read_bytes() for path in run.path.iterdir()}
    with quiet():
        found = run.calibrate(TABLE)
        plain, scaled = run.evaluate(TABLE), run.evaluate(TABLE, calibrated=True)
    assert found.log_loss_before == pytest.approx(plain.log_loss)
    assert found.log_loss_after == pytest.approx(scaled.log_loss)
    assert found.ece_after == pytest.approx(scaled.calibration_error)
    assert found.log_loss_after < found.log_loss_before
    assert {path.name for path in run.path.iterdir()} == before.keys()
    for name, content in before.items():
        if name == RUN_FILE:
            written = json.loads((run.path / name).read_bytes())
            assert written.pop("calibration") == found.model_dump(mode="json")
            assert written == json.loads(content)
        else:
            assert (run.path / name).read_bytes() == content


def test_logits_of_each_window_are_divided_by_the_temperature(run: greffe.Run) -> None:
    with quiet():
        run.calibrate(TABLE)
    temperature = run.require_calibration().temperature
    assert temperature != pytest.approx(1, rel=0.01)
    plain, scaled = run.predict(TEXTS), run.predict(TEXTS, calibrated=True)
    assert [each.windows for each in scaled] == [each.windows for each in plain]
    assert scaled[2].windows > 1
    rows = [run.tokenizer.wrap(np.array(run.tokenizer.encode(text))) for text in TEXTS[:2]]
    logits = classify_logits(run.model, rows, run.tokenizer.pad, causal=False).double()
    for number, prediction in enumerate(scaled[:2]):
        expected = (logits[number] / temperature).softmax(-1).tolist()
        assert list(prediction.probabilities.values()) == pytest.approx(expected)
    assert scaled[0].label == plain[0].label
    assert [each.score for each in run.predict(TEXTS)] == [each.score for each in plain]


def test_a_linear_run_is_calibrated_too(linear: greffe.Run) -> None:
    # Labels that disagree with the texts: the run cannot be as sure as it is.
    table = [*TABLE, *(Example(one.text, LABELS[one.label == LABELS[0]]) for one in TABLE[:8])]
    with quiet():
        found = linear.calibrate(table)
        scaled = linear.evaluate(table, calibrated=True)
    assert found.temperature > 1
    assert found.log_loss_after == pytest.approx(scaled.log_loss)
    [plain], [prediction] = (
        linear.predict("Un livre superbe."),
        linear.predict("Un livre superbe.", calibrated=True),
    )
    assert prediction.label == plain.label and 0.5 < prediction.score < plain.score


def test_texts_that_are_all_right_are_refused(linear: greffe.Run) -> None:
    before = (linear.path / RUN_FILE).read_bytes()
    with quiet(), pytest.raises(DataError, match="No temperature follows"):
        linear.calibrate(TABLE)
    assert (linear.path / RUN_FILE).read_bytes() == before


def test_a_run_without_calibration_says_how_to_get_one(run: greffe.Run) -> None:
    for use in (run.predict, run.evaluate, run.stream_predictions):
        with pytest.raises(RunError, match="not calibrated") as caught:
            use(TABLE, calibrated=True)  # type: ignore[operator]
        assert "greffe calibrate" in str(caught.value.hint)


def test_which_runs_are_refused(
    run: greffe.Run, fresh_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    with pytest.raises(RunError, match="part of the package"):
        greffe.load("greffe-fr").calibrate(TABLE)
    with pytest.raises(RunError, match="predicts no labels"):
        greffe.load(fresh_run("base").path).calibrate(TABLE)
    with pytest.raises(DataError, match="did not occur in training"):
        run.calibrate([("a text", "another")])
    inner = tmp_path / "stacked" / "feature_runs" / "0"
    shutil.copytree(run.path, inner)
    with pytest.raises(RunError, match="part of another run"):
        greffe.load(inner).calibrate(TABLE)
    run.write_manifest(run.manifest().model_copy(update={"status": "training"}))
    with pytest.raises(RunError, match="not finished"):
        run.calibrate(TABLE)


def test_a_run_that_another_process_writes_is_left_alone(run: greffe.Run) -> None:
    before = (run.path / RUN_FILE).read_bytes()
    with FileLock(run.path / LOCK_FILE), quiet(), pytest.raises(RunBusyError):
        run.calibrate(TABLE)
    assert (run.path / RUN_FILE).read_bytes() == before


def test_texts_that_the_run_was_trained_on_are_noticed(
    linear: greffe.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataError):
        linear.calibrate(TABLE)
    assert "was trained on these texts" in capsys.readouterr().err


def test_few_texts_are_noticed(run: greffe.Run, capsys: pytest.CaptureFixture[Any]) -> None:
    run.calibrate(TABLE)
    assert "24 texts are few" in capsys.readouterr().err
