"""TensorBoard: event files in the run's folder."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from greffe.pipelines.tracking.tracker import Ending, Line, RunFacts, Tracker

EVENTS = "tensorboard"
FLUSH_SECONDS = 5


class TensorBoardTracker(Tracker):
    """Adds an event file, which tells readers to forget the steps that are written again."""

    name = "tensorboard"
    library = "tensorboard"

    def __init__(self, run: RunFacts) -> None:
        self.run = run
        writer = import_module("torch.utils.tensorboard")
        self.summary: Any = import_module("torch.utils.tensorboard.summary")
        self.writer: Any = writer.SummaryWriter(
            str(run.folder / EVENTS), purge_step=run.step + 1, flush_secs=FLUSH_SECONDS
        )
        rows = {**run.parameters, **{f"({key})": value for key, value in run.tags.items()}}
        table = "".join(f"| {key} | {value} |\n" for key, value in rows.items())
        # At step 0: a resumed run writes the same text again, in the same place.
        self.writer.add_text("recipe", f"| | |\n| --- | --- |\n{table}", 0)

    def log(self, lines: Sequence[Line]) -> None:
        for line in lines:
            for name, value in line.figures.items():
                self.writer.add_scalar(name, value, line.step, walltime=line.time)

    def finish(self, result: Line) -> None:
        self.log([result])
        plain = (bool, str, int, float)
        parameters = {
            key: value if isinstance(value, plain) else str(value)
            for key, value in self.run.parameters.items()
        }
        for summary in self.summary.hparams(parameters, dict(result.figures)):
            self.writer.file_writer.add_summary(summary)

    def close(self, ending: Ending) -> None:
        self.writer.close()
