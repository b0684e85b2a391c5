"""A tiny fine-tuning to track, a stand-in for wandb, and what a run has written itself."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from greffe.config.option_groups import flat_keywords
from greffe.data.tables import Example
from greffe.pipelines import finetune as finetune_module
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews

TABLE = [Example(text, label) for label, text in toy_reviews(24, seed=1)]
SHORT: dict[str, Any] = {
    "budget": "6steps",
    "changes": [
        *("train.threads=1", "train.precision=fp32"),
        *("train.checkpoint_every=2steps", "train.evaluate_every=3steps"),
    ],
}
finetune = flat_keywords(finetune_module.finetune)


class Killed(Exception):
    """Stands for a process that is killed."""


@dataclass
class RecordedRun:
    """A run of the stand-in for wandb; lines before its step are dropped, as wandb does."""

    options: dict[str, Any]
    history: dict[int, dict[str, float]] = field(default_factory=dict)
    summary: dict[str, float] = field(default_factory=dict)
    exit_codes: list[int] = field(default_factory=list)
    step: int = 0

    def log(self, figures: dict[str, float], step: int) -> None:
        assert step >= self.step and not figures.keys() & self.history.get(step, {}).keys()
        self.step = step
        self.history.setdefault(step, {}).update(figures)

    def finish(self, exit_code: int) -> None:
        self.exit_codes.append(exit_code)


class RecordedWandb(ModuleType):
    """A module with the part of wandb that is used; it keeps runs by id, as its server does."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.__spec__ = ModuleSpec("wandb", None)
        self.runs: dict[str, RecordedRun] = {}

    def init(self, **options: Any) -> RecordedRun:
        assert os.environ["WANDB_CONSOLE"] == "off"
        run = self.runs.setdefault(options["id"], RecordedRun(options))
        run.step = max(run.history, default=-1) + 1
        return run


@dataclass(frozen=True)
class Resumed:
    """A run that was killed after its fifth step, with a checkpoint of the fourth, and resumed."""

    run: RunDirectory
    wandb: RecordedWandb


def logged(run: RunDirectory) -> dict[str, dict[int, float]]:
    """All figures of metrics.jsonl, by name and step."""
    figures: dict[str, dict[int, float]] = {}
    for line in run.metrics():
        for name, value in line.items():
            if name not in ("step", "kind") and value is not None:
                figures.setdefault(f"{line['kind']}/{name}", {})[line["step"]] = float(value)
    return figures


def result(run: RunDirectory) -> dict[str, float]:
    """The figures of the finished run."""
    found = run.manifest().result.items()
    return {f"result/{name}": float(value) for name, value in found if value is not None}


def tensorboard_scalars(run: RunDirectory) -> dict[str, list[tuple[int, float]]]:
    """All scalars in a run's event files by name, in their order."""
    events = EventAccumulator(str(run.path / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    names = events.Tags()["scalars"]
    return {name: [(each.step, each.value) for each in events.Scalars(name)] for name in names}


def expected_scalars(run: RunDirectory) -> dict[str, list[tuple[int, float]]]:
    """What the run has written itself, as TensorBoard stores it: in single precision."""
    steps = int(run.manifest().figure("steps"))
    figures = logged(run) | {name: {steps: value} for name, value in result(run).items()}
    return {
        name: [(step, float(np.float32(value))) for step, value in found.items()]
        for name, found in figures.items()
    }
