"""MLflow: its client finds every figure of the log once; a server that is not there is given up."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.pipelines.tracking.tracking_helpers import (
    SHORT,
    TABLE,
    Resumed,
    finetune,
    logged,
    result,
)

from greffe.pipelines.run_folder import flatten
from greffe.pipelines.tracking.mlflow_tracker import MlflowTracker
from greffe.pipelines.tracking.tracker import Line, RunFacts
from greffe.progress import quiet
from greffe.run import RunDirectory


@pytest.fixture
def client(resumed: Resumed, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of the folder beside the run."""
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return MlflowClient((resumed.run.path.parent / "mlruns").as_uri())


def test_a_resumed_run_is_one_run_with_every_step_once(resumed: Resumed, client: Any) -> None:
    experiment = client.get_experiment_by_name("greffe")
    (run,) = client.search_runs([experiment.experiment_id])
    found = {
        name: [(each.step, each.value) for each in client.get_metric_history(run.info.run_id, name)]
        for name in run.data.metrics
    }
    figures = logged(resumed.run) | {
        name: {6: value} for name, value in result(resumed.run).items()
    }
    timed = {"train/seconds", "train/tokens_per_second"}  # step 5 as it was the first time
    assert [step for step, _ in found["train/loss"]] == [1, 2, 3, 4, 5, 6]
    for name in timed:
        assert [step for step, _ in found.pop(name)] == list(figures.pop(name))
    assert found == {name: list(values.items()) for name, values in figures.items()}


def test_the_run_has_its_recipe_its_name_and_its_end(resumed: Resumed, client: Any) -> None:
    (run,) = client.search_runs([client.get_experiment_by_name("greffe").experiment_id])
    assert run.info.run_name == str(resumed.run.path)
    assert run.info.status == "FINISHED"
    recipe = {name: str(value) for name, value in flatten(resumed.run.recipe()).items()}
    assert run.data.params == recipe
    assert run.data.tags["greffe.path"] == str(resumed.run.path.resolve())
    assert "MLFLOW_HTTP_REQUEST_TIMEOUT" not in os.environ


def facts(folder: Path, step: int = 0) -> RunFacts:
    return RunFacts("a run", folder, {"train.lr": 0.1}, {"kind": "classifier"}, step)


def test_a_run_that_the_server_does_not_know_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "one").as_uri())
    first = MlflowTracker(facts(tmp_path))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "other").as_uri())
    second = MlflowTracker(facts(tmp_path, step=3))
    second.log([Line(4, 1.5, {"train/loss": 0.5})])
    second.close("interrupted")
    run = second.client.get_run(second.id)
    assert second.id != first.id and run.info.status == "KILLED"
    assert run.data.metrics == {"train/loss": 0.5}
    assert second.client.get_experiment(run.info.experiment_id).name == "mine"


def test_both_stages_of_a_fine_tuning_are_in_the_same_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    stages = [tmp_path / "out" / "intermediate", tmp_path / "out"]
    stages[0].mkdir(parents=True)
    trackers = [MlflowTracker(facts(folder)) for folder in stages]
    assert {tracker.client.tracking_uri for tracker in trackers} == {
        (tmp_path / "mlruns").resolve().as_uri()
    }


def test_an_unreachable_server_costs_seconds_and_one_notice(
    fresh_run: Callable[..., RunDirectory],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    parent = fresh_run("parent")
    with quiet():
        untracked = finetune(TABLE, tmp_path / "untracked", parent=parent, **SHORT)
    began = time.monotonic()
    run = finetune(TABLE, tmp_path / "run", parent=parent, track="mlflow", **SHORT)
    assert time.monotonic() - began < 30
    notices = [line for line in capsys.readouterr().err.splitlines() if "mlflow" in line]
    assert len(notices) == 1
    assert notices[0].startswith("mlflow: switched off, training is not affected: MlflowException")
    assert run.manifest().weights == untracked.manifest().weights
    assert run.manifest().status == "finished"
