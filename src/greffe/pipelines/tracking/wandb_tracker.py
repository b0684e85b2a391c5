"""Weights & Biases: a run of the project greffe, online or as WANDB_MODE says."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from importlib import import_module
from typing import Any

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
SETTINGS = {
    "console": "off",  # standard output and error stay ours
    "init_timeout": 30,
    "login_timeout": 1,  # of a question that nobody sees: it would be asked during the training
}


class WandbTracker(Tracker):
    """A run of Weights & Biases; its id is remembered for when the run is resumed."""

    name = "wandb"
    library = "wandb"

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
            settings=SETTINGS,
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
