"""Members: several trainings from the same start, and the average of what they end with.

Each member sees the texts in another order and with other tokens hidden; base and head begin the
same, so the averaged weights lie between them. The first member is the run itself, the others are
kept beside it until the run is finished: whatever is interrupted goes on where it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace

import torch

from greffe.checkpoint import TrainingState
from greffe.model.model import Model
from greffe.progress import notice
from greffe.run import MEMBERS, RUN_FILE, RunDirectory
from greffe.seeding import derive
from greffe.stages.fit import Looked
from greffe.weights import load_exact
from greffe.world import World


def member_seed(seed: int, member: int) -> int:
    """The seed of a member's order, hidden tokens and dropout; the first has the run's own."""
    return seed if member == 0 else derive(seed, "member", member)


def called(member: int, members: int) -> str:
    """How a member's progress is headed."""
    return "fine-tune" if members == 1 else f"fine-tune {member + 1} of {members}"


def fit_members(
    run: RunDirectory,
    model: Model,
    train_member: Callable[[int, RunDirectory], TrainingState],
    look: Callable[[TrainingState], Looked],
    *,
    members: int,
    world: World,
) -> TrainingState:
    """Train each member from the same weights; leaves the model as their average.

    A member that was trained before an interruption is read from its last state.
    """
    if members == 1:
        return train_member(0, run)
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    total = {name: torch.zeros_like(tensor) for name, tensor in start.items()}
    states = []
    for member in range(members):
        load_exact(model, start, "the start of the members")
        into = run if member == 0 else _folder_of(run, member, world)
        states.append(train_member(member, into))
        for name, tensor in model.state_dict().items():
            total[name] += tensor / members
    load_exact(model, total, "the average of the members")
    state = _summed(states)
    looked = look(state)
    looked = replace(looked, score=world.from_main(looked.score))
    if world.is_main:
        run.rewind_metrics(states[0].step)
        run.log(step=state.step, kind="average", members=members, **looked.metrics)
    notice(f"fine-tune: average of {members} · {looked.line}")
    return state.model_copy(
        update={
            "best_score": looked.score,
            "best_evaluation": looked.metrics,
            "last_evaluation": looked.metrics,
        }
    )


def drop_members(run: RunDirectory) -> None:
    """Remove what was kept of the members for going on."""
    shutil.rmtree(run.path / MEMBERS, ignore_errors=True)


def _folder_of(run: RunDirectory, member: int, world: World) -> RunDirectory:
    """Where a member other than the first keeps its state; says what the run says of itself."""
    folder = RunDirectory(run.path / MEMBERS / str(member))
    if world.is_main and not (folder.path / RUN_FILE).exists():
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.write_manifest(run.manifest())
    world.barrier()
    return folder


def _summed(states: list[TrainingState]) -> TrainingState:
    """Steps, tokens and seconds of all members together."""
    return TrainingState(
        tokenizer=states[0].tokenizer,
        step=sum(state.step for state in states),
        tokens=sum(state.tokens for state in states),
        seconds=sum(state.seconds for state in states),
        skipped=sum(state.skipped for state in states),
    )
