"""Weights & Biases: a run of the project greffe, online or as WANDB_MODE says."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

from greffe.pipelines.tracking.tracker import (
    FOLDER,
    Ending,
    Line,
    RunFacts,
    Tracker,
    remember_id,
    remembered_id,
)

PROJECT = "greffe"


class WandbTracker(Tracker):
    """A run of Weights & Biases; its id is remembered for when the run is resumed."""

    name = "wandb"
    library = "wandb"
    environment: ClassVar[Mapping[str, str]] = {
        "WANDB_CONSOLE": "off",  # it would capture standard output and error
        "WANDB_INIT_TIMEOUT": "30",
        # Without a key it asks for one, in the middle of a training.
        "WANDB_LOGIN_TIMEOUT": "1",
    }

    def __init__(self, run: RunFacts) -> None:
        wandb: Any = import_module("wandb")
        identifier = remembered_id(run, self.name) or secrets.token_hex(8)
        remember_id(run, self.name, identifier)
        self.run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run.name,
            id=identifier,
            resume="allow",
            reinit="create_new",  # a run of the user that is open stays open
            config={**run.parameters, **{f"run.{key}": value for key, value in run.tags.items()}},
            dir=None if "WANDB_DIR" in os.environ else str(run.folder / FOLDER),
            allow_val_change=True,
        )

    def log(self, lines: Sequence[Line]) -> None:
        for line in lines:
            # A resumed run goes on after the last step that it has.
            if line.step >= self.run.step:
                self.run.log(dict(line.figures), step=line.step)

    def finish(self, result: Line) -> None:
        self.run.summary.update(dict(result.figures))

    def close(self, ending: Ending) -> None:
        self.run.finish(exit_code=0 if ending == "finished" else 1)
