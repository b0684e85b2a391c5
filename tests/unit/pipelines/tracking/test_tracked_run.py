"""Which trackers are taken, and that nothing they do reaches the training."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from tests.conftest import Command
from tests.unit.pipelines.tracking.tracking_helpers import SHORT, TABLE, finetune

from greffe.errors import RecipeError
from greffe.pipelines.tracking import (
    TRACKERS,
    check_trackers,
    mirror,
    tracked,
    tracked_run,
    tracker,
)
from greffe.pipelines.tracking.tracker import (
    Ending,
    Line,
    RunFacts,
    Tracker,
    remember_id,
    remembered_id,
)
from greffe.run import RunDirectory
from greffe.training.distributed import World


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, type[Tracker]]:
    """An empty registry for trackers that a test defines."""
    empty: dict[str, type[Tracker]] = {}
    monkeypatch.setattr(tracker, "TRACKERS", empty)
    monkeypatch.setattr(tracked_run, "TRACKERS", empty)
    return empty


def test_names_are_words_or_lists_of_words() -> None:
    assert list(TRACKERS) == ["mlflow", "tensorboard", "wandb"]
    assert check_trackers(()) == ()
    assert check_trackers("wandb, mlflow") == ("wandb", "mlflow")
    assert check_trackers(["mlflow", "tensorboard", "mlflow"]) == ("mlflow", "tensorboard")


@pytest.mark.parametrize("verb", ["pretrain", "finetune"])
def test_an_unknown_tracker_is_refused_before_any_work(
    verb: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # Neither the base nor the text is there: the name of the tracker is looked at first.
    inputs = ("nothing.txt",) if verb == "pretrain" else ("--data", "nothing.tsv")
    outcome = command(verb, *inputs, "--from", "nothing", "--out", "a", "--track", "tensorbord")
    assert outcome.code == 2 and not list(tmp_path.iterdir())
    assert "--track 'tensorbord' is not a known tracker." in outcome.err
    assert "one of mlflow, tensorboard, wandb" in outcome.err
    assert "did you mean tensorboard?" in outcome.err


def test_a_study_is_not_tracked(command: Command, tmp_path: Path) -> None:
    outcome = command("compare", "greffe-fr", "--out", tmp_path / "a", "--track", "mlflow")
    assert outcome.code == 2 and "--track" in outcome.err


def test_what_is_not_installed_is_named_and_left_out(
    fresh_run: Callable[..., RunDirectory], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parent = fresh_run("parent")
    run = finetune(TABLE, tmp_path / "run", parent=parent, track="wandb", **SHORT)
    lines = [line for line in capsys.readouterr().err.splitlines() if "wandb" in line]
    assert lines == ['wandb: not installed, and not used; pip install "greffe[wandb]"']
    assert run.manifest().status == "finished"


def test_only_the_main_rank_tracks(fresh_run: Callable[..., RunDirectory]) -> None:
    run = fresh_run("run")
    with tracked(run, "tensorboard", World(rank=1, size=2)) as same:
        assert same is run
    with tracked(run, "tensorboard", World()) as other:
        assert type(copy.copy(other)) is RunDirectory  # as it is sent to a worker process


@pytest.mark.usefixtures("registry")
def test_a_tracker_that_hangs_delays_neither_the_training_nor_its_end(
    fresh_run: Callable[..., RunDirectory],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    released = threading.Event()

    class Hanging(Tracker):
        name, library = "hanging", "json"
        environment: ClassVar[dict[str, str]] = {"GREFFE_HANGING": "1"}

        def __init__(self, run: RunFacts) -> None:
            released.wait()

        def log(self, lines: Sequence[Line]) -> None: ...

        def finish(self, result: Line) -> None: ...

        def close(self, ending: Ending) -> None: ...

    monkeypatch.setattr(mirror, "CLOSE_SECONDS", 0.1)
    began = time.monotonic()
    with tracked(fresh_run("run"), "hanging", World()) as run:
        run.rewind_metrics(0)
        assert os.environ["GREFFE_HANGING"] == "1"
        for step in range(1, 101):
            run.log(step=step, kind="train", loss=1.0)
    assert time.monotonic() - began < 5
    released.set()
    assert "GREFFE_HANGING" not in os.environ
    assert len(list(run.metrics())) == 100
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hanging: switched off, training is not affected: it has not taken")


@pytest.mark.usefixtures("registry")
def test_a_tracker_that_fails_later_is_switched_off_with_one_notice(
    fresh_run: Callable[..., RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    taken: list[Line] = []
    failed = threading.Event()

    class Failing(Tracker):
        name, library = "failing", "json"

        def __init__(self, run: RunFacts) -> None: ...

        def log(self, lines: Sequence[Line]) -> None:
            for line in lines:
                if line.step == 2:
                    failed.set()
                    raise SystemExit("no\nmore")
                taken.append(line)

        def finish(self, result: Line) -> None: ...

        def close(self, ending: Ending) -> None: ...

    with tracked(fresh_run("run"), "failing", World()) as run:
        run.rewind_metrics(0)
        run.log(step=1, kind="train", loss=1.0, lr=float("nan"), skipped=True, note="text")
        while not taken:
            time.sleep(0.01)
        run.log(step=2, kind="train", loss=1.0)
        assert failed.wait(10)
        run.log(step=3, kind="train", loss=1.0)
    assert [(line.step, dict(line.figures)) for line in taken] == [
        (1, {"train/loss": 1.0, "train/skipped": 1.0})
    ]
    (notice,) = capsys.readouterr().err.splitlines()
    assert notice == "failing: switched off, training is not affected: SystemExit: 'no'"


def test_an_id_that_is_damaged_is_not_used(tmp_path: Path) -> None:
    run = RunFacts("a", tmp_path, {}, {}, 0)
    assert remembered_id(run, "mlflow") is None
    remember_id(run, "mlflow", "0a1b")
    assert remembered_id(run, "mlflow") == "0a1b"
    (tmp_path / "tracking" / "mlflow.id").write_bytes(b"../..\xff")
    assert remembered_id(run, "mlflow") is None


def test_no_trackers_are_told_of_an_unknown_name() -> None:
    with pytest.raises(RecipeError, match="''"):
        check_trackers("")
