"""Restarts: a fine-tuning that collapsed begins again at the same weights, with a lower rate.

Each restart has a folder of its own in that of the run until this is finished. An interrupted one
resumes: which trainings collapsed follows from their last checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from greffe.config.sections import TrainSpec
from greffe.model.model import Model
from greffe.model.weights import load_exact
from greffe.pipelines.fit import Task, fit
from greffe.pipelines.run_folder import training_folder
from greffe.progress import notice, quiet
from greffe.run import METRICS_FILE, RESTARTS, RunDirectory
from greffe.storage import read_file, write_atomic
from greffe.training.checkpoint import TrainingState
from greffe.training.collapse import Ending, Restarted
from greffe.training.distributed import World

MOST_RESTARTS = 2
LOWER = 3.0
"""The rate of a restart is that of the training before, divided by this."""


@dataclass(frozen=True)
class Restartable:
    """How a training is judged, and how its model gets back the weights that it began with."""

    judge: Callable[[TrainingState], Ending]
    start: Callable[[], Mapping[str, Tensor]]


@dataclass(frozen=True)
class _Attempt:
    """One training: where it is, its choices, how it ended."""

    into: RunDirectory
    spec: TrainSpec
    state: TrainingState
    ending: Ending


def fit_with_restarts(
    run: RunDirectory,
    model: Model,
    task: Task,
    spec: TrainSpec,
    world: World,
    restartable: Restartable,
) -> TrainingState:
    """Train; while the model collapses, train again with a lower rate; leave the model as kept.

    If every training collapses, the one with the lowest loss is kept. Tokens and seconds are those
    of all trainings; the log is that of the training that is kept.
    """
    attempts = [_attempt(run, model, task, spec, world, restartable)]
    while attempts[-1].ending.is_collapsed and len(attempts) <= MOST_RESTARTS:
        lower = spec.model_copy(update={"lr": attempts[-1].spec.lr / LOWER})
        frequencies = attempts[-1].ending.frequencies
        notice(
            f"{task.name}: the loss did not fall below that of the class frequencies "
            f"({frequencies:.3f}): starting again with lr {lower.lr:.2g}"
        )
        load_exact(model, restartable.start(), "the start of the training")
        into = training_folder(run, RESTARTS, len(attempts), world)
        attempts.append(_attempt(into, model, task, lower, world, restartable))
    if len(attempts) == 1:
        return attempts[0].state
    kept, is_collapsed = attempts[-1], attempts[-1].ending.is_collapsed
    if is_collapsed:
        kept = min(attempts, key=lambda one: one.ending.loss)
        notice(
            f"{task.name}: {len(attempts)} trainings collapsed; keeping the one with the lowest "
            f"loss, with lr {kept.spec.lr:.2g}"
        )
    if kept is not attempts[-1]:
        with quiet():  # its last checkpoint is there: nothing is left to train
            fit(kept.into, model, task, kept.spec, world)
    if world.is_main and kept.into.path != run.path:
        log = read_file(kept.into.path / METRICS_FILE, "the log of a training")
        write_atomic(run.path / METRICS_FILE, log)
    return kept.state.model_copy(
        update={
            "tokens": sum(one.state.tokens for one in attempts),
            "seconds": sum(one.state.seconds for one in attempts),
            "restarted": Restarted(
                restarts=len(attempts) - 1, lr=kept.spec.lr, collapsed=int(is_collapsed)
            ),
        }
    )


def _attempt(
    into: RunDirectory,
    model: Model,
    task: Task,
    spec: TrainSpec,
    world: World,
    restartable: Restartable,
) -> _Attempt:
    state = fit(into, model, task, spec, world)
    ending = restartable.judge(state)
    # Ranks that judged differently would wait for each other without end.
    loss, accuracy = world.broadcast(ending.loss), world.broadcast(ending.accuracy)
    return _Attempt(into, spec, state, replace(ending, loss=loss, accuracy=accuracy))
