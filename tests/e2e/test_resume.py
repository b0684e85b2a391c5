"""Interrupted at any moment and resumed, a run ends with the same weights, bit for bit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import greffe
from greffe.errors import InterruptedRunError, MismatchError
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.storage import file_hash
from greffe.training import interruption
from greffe.training.checkpoint import last_checkpoint

SMALL_STEPS = [
    "train.threads=1",
    "train.checkpoint_every=3steps",
    "train.evaluate_every=4steps",
    "model.dropout=0.1",
]


class StopsAfter(interruption.Interruption):
    """Requests to stop at the n-th check, as a signal at that moment would."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.checks = 0

    @property
    def requested(self) -> bool:
        self.checks += 1
        return self.checks >= self.steps

    @requested.setter
    def requested(self, value: bool) -> None:
        pass


def interrupt_after(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    monkeypatch.setattr(StopsAfter, "steps", steps)
    monkeypatch.setattr("greffe.pipelines.fit.Interruption", StopsAfter)


@pytest.mark.parametrize(
    ("objective", "precision"),
    [
        *((name, "fp32") for name in ("causal", "masked", "next_sentence", "hybrid")),
        *((name, "bf16") for name in ("causal", "masked", "next_sentence", "hybrid")),
    ],
)
def test_pretraining_interrupted_three_times(world, tmp_path, monkeypatch, objective, precision):
    def pretrain(out: str, *, resume: bool = False) -> str:
        with quiet():
            run = greffe.pretrain(
                world.corpus,
                tmp_path / out,
                recipe="tiny",
                objective=objective,
                precision=precision,
                budget="14steps",
                changes=SMALL_STEPS,
                resume=resume,
            )
        return file_hash(run.weights_path)

    whole = pretrain("whole")
    for steps in (5, 1, 4):
        with monkeypatch.context() as patch:
            interrupt_after(patch, steps)
            with pytest.raises(InterruptedRunError):
                pretrain("parts", resume=True)
    assert pretrain("parts", resume=True) == whole
    assert RunDirectory(tmp_path / "parts").manifest().lineage.precision == precision
    lines = [list(RunDirectory(tmp_path / name).metrics()) for name in ("whole", "parts")]
    for first, second in zip(*lines, strict=True):
        timeless = {"seconds", "tokens_per_second"}
        assert {k: v for k, v in first.items() if k not in timeless} == {
            k: v for k, v in second.items() if k not in timeless
        }


def test_a_run_in_bf16_is_resumed_in_bf16_or_not_at_all(world, tmp_path, monkeypatch):
    def pretrain(precision: str | None) -> RunDirectory:
        with quiet():
            return greffe.pretrain(
                world.corpus,
                tmp_path / "run",
                recipe="tiny",
                precision=precision,
                budget="8steps",
                changes=SMALL_STEPS,
                resume=True,
            )

    with monkeypatch.context() as patch:
        interrupt_after(patch, 4)
        with pytest.raises(InterruptedRunError):
            pretrain("bf16")
    before = file_hash(tmp_path / "run" / "recipe.toml")
    with pytest.raises(MismatchError, match="started in bf16 and cannot be resumed in fp32"):
        pretrain("fp32")
    assert file_hash(tmp_path / "run" / "recipe.toml") == before
    assert pretrain(None).manifest().lineage.precision == "bf16"


def fine_tuned(world, out: Path, changes: list[str], *, soup: int | None = None) -> str:
    """Return the hash of the weights after four epochs, new or resumed."""
    with quiet():
        run = greffe.finetune(
            world.base,
            data=world.train,
            valid=world.valid,
            out=out,
            budget="4epochs",
            soup=soup,
            changes=["train.threads=1", "train.checkpoint_every=2steps", *changes],
            resume=True,
        )
    return file_hash(run.weights_path)


@pytest.mark.parametrize(
    "changes",
    [
        ["objective.dropout=0.2", "train.layer_decay=0.7"],
        ["train.gradual_unfreezing=true", "train.patience=2"],
        ["train.freeze=2", "train.accumulation=2"],
        ["train.precision=bf16", "objective.dropout=0.2"],
    ],
)
def test_fine_tuning_interrupted_twice(world, tmp_path, monkeypatch, changes):
    whole = fine_tuned(world, tmp_path / "whole", changes)
    for steps in (3, 4):
        with monkeypatch.context() as patch:
            interrupt_after(patch, steps)
            with pytest.raises(InterruptedRunError):
                fine_tuned(world, tmp_path / "parts", changes)
    assert fine_tuned(world, tmp_path / "parts", changes) == whole


def test_a_soup_interrupted_in_each_of_its_trainings(world, tmp_path, monkeypatch):
    changes = ["train.batch=8", "objective.token_dropout=0.1"]

    def finetune(out: str) -> str:
        found = fine_tuned(world, tmp_path / out, changes, soup=3)
        assert not (tmp_path / out / "soup").exists()
        return found

    whole = finetune("whole")
    stopped = []
    for _ in range(3):
        with monkeypatch.context() as patch:
            interrupt_after(patch, 7)
            with pytest.raises(InterruptedRunError, match="saved in") as found:
                finetune("parts")
        stopped.append(str(found.value))
    assert [("soup/1" in text, "soup/2" in text) for text in stopped] == [
        (False, False),
        (True, False),
        (False, True),
    ]
    assert finetune("parts") == whole


def command(world, out: Path) -> list[str]:
    changes = [word for change in SMALL_STEPS for word in ("--set", change)]
    return [
        *(sys.executable, "-m", "greffe", "pretrain", str(world.corpus), "--recipe", "tiny"),
        *("--objective", "hybrid", "--budget", "120steps", "--out", str(out), "--resume", *changes),
    ]


def wait_for_step(out: Path, step: int, process: subprocess.Popen[str]) -> None:
    """Until a checkpoint of this step or a later one is on disk."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        found = last_checkpoint(out / "checkpoints")
        if found is not None and int(found.name.removeprefix("step-")) >= step:
            return
        time.sleep(0.005)
    raise AssertionError(f"step {step} was never reached: {process.poll()}")


@pytest.mark.alone
def test_killed_at_random_points(world, tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    subprocess.run(command(world, whole), check=True, env=environment, capture_output=True)
    source = random.Random(7)
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
        started = last_checkpoint(parts / "checkpoints")
        step = int(started.name.removeprefix("step-")) if started else 0
        with subprocess.Popen(
            command(world, parts), env=environment, stderr=subprocess.PIPE, text=True
        ) as process:
            wait_for_step(parts, step + source.randint(5, 20), process)
            time.sleep(source.random() * 0.05)
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
        if number is signal.SIGKILL:
            assert process.returncode == -signal.SIGKILL
        else:
            assert process.returncode == 130, errors
            assert "--resume" in errors
            assert "Traceback" not in errors
    subprocess.run(command(world, parts), check=True, env=environment, capture_output=True)
    assert file_hash(parts / "weights.safetensors") == file_hash(whole / "weights.safetensors")
    assert not (parts / "checkpoints").exists()


def test_a_damaged_checkpoint_is_an_error_and_stays(world, tmp_path, monkeypatch):
    out = tmp_path / "r"
    words = {"recipe": "tiny", "budget": "9steps", "changes": SMALL_STEPS, "resume": True}
    with monkeypatch.context() as patch, quiet(), pytest.raises(InterruptedRunError):
        interrupt_after(patch, 4)
        greffe.pretrain(world.corpus, out, **words)
    folder = last_checkpoint(out / "checkpoints")
    assert folder is not None
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    with quiet(), pytest.raises(greffe.GreffeError, match="damaged"):
        greffe.pretrain(world.corpus, out, **words)
    assert folder.exists()


def test_an_unfinished_run_can_be_used(world, tmp_path, monkeypatch, capsys):
    out = tmp_path / "r"
    with monkeypatch.context() as patch, pytest.raises(InterruptedRunError):
        interrupt_after(patch, 6)
        greffe.pretrain(
            world.corpus,
            out,
            recipe="tiny",
            objective="causal",
            budget="9steps",
            changes=SMALL_STEPS,
        )
    assert greffe.load(out).generate("Bonjour les", tokens=3).startswith("Bonjour les")
    assert "not finished" in capsys.readouterr().err
