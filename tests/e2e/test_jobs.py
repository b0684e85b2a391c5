"""Trainings side by side: the same results as one by one, also after kills and interruptions."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import greffe
from greffe.errors import DivergedError, RunError
from greffe.progress import quiet
from greffe.samples.toy import toy_reviews

pytestmark = [pytest.mark.alone, pytest.mark.slow]
CHANGES = ["train.threads=1", "train.checkpoint_every=3steps"]
SECONDS = 120.0


@pytest.fixture(scope="module")
def test_part(world) -> Path:
    path = world.folder / "test-of-jobs.tsv"
    lines = (f"{label}\t{text}\n" for label, text in toy_reviews(30, seed=3))
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def compared(world, test_part):
    """compared(out, jobs): the study that all tests here run."""

    def run(out: Path, jobs: int, **more: Any) -> greffe.Study:
        choices = {"seeds": 1, "labels": [12], "budget": "20steps", "changes": CHANGES, **more}
        tables = {"data": world.train, "valid": world.valid, "test": test_part}
        with quiet():
            return greffe.compare(world.base, **tables, out=out, jobs=jobs, **choices)

    return run


@pytest.fixture(scope="module")
def one_by_one(world, compared) -> dict[str, Any]:
    return cells_of(compared(world.folder / "one-by-one", 1).path)


def cells_of(study: Path) -> dict[str, Any]:
    """The content of every cell's file, without what it cost."""
    found = {}
    for path in sorted((study / "cells").glob("*.json")):
        content = json.loads(path.read_text("utf-8"))
        for name in ("seconds", "memory_bytes"):
            content["result"].pop(name)
        found[path.name] = content
    return found


def workers_of(parent: int) -> list[int]:
    """The worker processes of a process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            words = (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == parent and b"spawn_main" in words:
            found.append(int(stat.parent.name))
    return found


@contextmanager
def killing(out: Path, *, once: bool) -> Iterator[None]:
    """Kill a worker while it trains, or every one that appears."""
    is_over = threading.Event()

    def kill() -> None:
        while not is_over.wait(0.02):
            if once and not list(out.glob("runs/*/checkpoints/step-*")):
                continue
            for pid in workers_of(os.getpid())[: 1 if once else None]:
                os.kill(pid, signal.SIGKILL)
                if once:
                    return

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def test_the_same_results_cell_by_cell(compared, one_by_one, tmp_path):
    study = compared(tmp_path / "study", 2)
    assert cells_of(study.path) == one_by_one
    for path in (study.path / "cells").glob("pretrained*.json"):
        result = json.loads(path.read_text("utf-8"))["result"]
        assert 50e6 < result["memory_bytes"] < 4e9
    kept = {arm.name: arm.kept_run for arm in study.results.arms}
    assert kept["pretrained"] is not None and kept["stacked"] is not None
    assert {f"runs/{path.name}" for path in (study.path / "runs").iterdir()} == {
        path for path in kept.values() if path is not None
    }
    # More jobs than are left: there is nothing to do, and nothing is started.
    assert cells_of(compared(study.path, 50).path) == one_by_one


def test_a_worker_killed_once_is_replaced(compared, one_by_one, tmp_path):
    with killing(tmp_path / "study", once=True):
        study = compared(tmp_path / "study", 2)
    assert cells_of(study.path) == one_by_one


def test_a_worker_killed_twice_is_reported(compared, one_by_one, tmp_path):
    out = tmp_path / "study"
    with (
        killing(out, once=False),
        pytest.raises(RunError, match="seed 1: its process died 2 times") as caught,
    ):
        compared(out, 2)
    assert "--jobs 1" in str(caught.value.hint)
    assert workers_of(os.getpid()) == []
    assert cells_of(compared(out, 1).path) == one_by_one


def test_a_training_that_diverges_ends_the_study_as_without_workers(compared, tmp_path):
    diverging = [*CHANGES, "train.lr=1e30", "train.clip=0", "train.nonfinite_limit=2"]
    errors = []
    for jobs in (1, 2):
        with pytest.raises(DivergedError) as caught:
            compared(tmp_path / f"study-{jobs}", jobs, changes=diverging, labels=[])
        errors.append(caught.value)
    assert "train.lr" in str(errors[1].hint) and errors[1].hint == errors[0].hint
    assert "seed 1: " in errors[1].message


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_all_and_the_study_resumes_with_other_jobs(
    world, test_part, compared, one_by_one, tmp_path, number
):
    out = tmp_path / "study"
    words = ["compare", world.base, "--data", world.train, "--valid", world.valid]
    words += ["--test", test_part, "--out", out, "--seeds", "1", "--labels", "12"]
    words += ["--budget", "20steps", "--jobs", "2"]
    words += [word for change in CHANGES for word in ("--set", change)]
    process = subprocess.Popen(
        [sys.executable, "-m", "greffe", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + SECONDS
    while not list(out.glob("runs/*/checkpoints/step-*")) and time.monotonic() < end:
        time.sleep(0.02)
    workers = workers_of(process.pid)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.send_signal(number)
    _, shown = process.communicate(timeout=SECONDS)
    assert process.returncode == 130, shown
    assert re.search(r"Stopped; \d of 10 trainings are done and kept", shown)
    assert "to continue, repeat the command" in shown
    assert "Traceback" not in shown
    assert len(workers) == 2 and workers_of(process.pid) == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert cells_of(compared(out, 1).path) == one_by_one


@pytest.mark.parametrize("verb", ["compare", "finetune"])
def test_zero_jobs_are_refused(command, world, tmp_path, verb):
    start = (verb, world.base) if verb == "compare" else (verb, "--from", world.base)
    done = command(*start, "--data", world.train, "--out", tmp_path / "out", "--jobs", "0")
    assert done.code == 2
    assert "'--jobs'" in done.err and "greater than or equal to 1" in done.err
    assert not (tmp_path / "out").exists()


def test_zero_jobs_are_refused_from_python(compared, tmp_path):
    with pytest.raises(greffe.GreffeError, match="Invalid number of jobs"):
        compared(tmp_path / "study", 0)
    assert not (tmp_path / "study").exists()
