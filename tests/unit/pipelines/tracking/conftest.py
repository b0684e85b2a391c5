"""Shared by the tests of trackers: a fine-tuning that is killed, resumed and tracked by all."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest
from tests.builders import toy_run
from tests.unit.pipelines.tracking.tracking_helpers import (
    SHORT,
    TABLE,
    Killed,
    RecordedWandb,
    Resumed,
    finetune,
)

from greffe.data.tokenizer import Tokenizer
from greffe.pipelines import fit
from greffe.progress import quiet
from greffe.run import RunDirectory


@pytest.fixture(scope="session")
def resumed(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer: Tokenizer) -> Resumed:
    """What trackers have of a fine-tuning that was killed and resumed."""
    folder = tmp_path_factory.mktemp("tracked")
    parent = toy_run(folder / "parent", tiny_tokenizer)
    wandb = RecordedWandb()
    log_step = fit.log_step

    def log_and_die(run: RunDirectory, state: Any, step: Any, **flags: Any) -> None:
        log_step(run, state, step, **flags)
        if step.clock.step == 5:
            raise Killed

    with pytest.MonkeyPatch.context() as patch, quiet():
        patch.setitem(sys.modules, "wandb", wandb)
        for name in ("MLFLOW_TRACKING_URI", "WANDB_PROJECT", "WANDB_DIR"):
            patch.delenv(name, raising=False)

        def train(*, resume: bool) -> RunDirectory:
            track = ["tensorboard", "mlflow,wandb"]
            out = folder / "run"
            return finetune(TABLE, out, parent=parent, track=track, resume=resume, **SHORT)

        with pytest.MonkeyPatch.context() as once, pytest.raises(Killed):
            once.setattr(fit, "log_step", log_and_die)
            train(resume=False)
        time.sleep(1)  # event files are read in the order of their names, which are in seconds
        return Resumed(train(resume=True), wandb)
