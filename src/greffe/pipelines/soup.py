"""Model soup: several trainings from the same start, and the average of their weights.

Each model sees the texts in another order and with other tokens hidden. The first is the run
itself; the others are kept in its folder until the run is finished, so that each can resume.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from greffe.model.model import Model
from greffe.model.weights import load_exact
from greffe.pipelines.fit import Evaluated, check_evaluated
from greffe.progress import notice
from greffe.run import RUN_FILE, SOUP, RunDirectory
from greffe.seeding import derive
from greffe.training.checkpoint import TrainingState
from greffe.training.distributed import World


def member_seed(seed: int, member: int) -> int:
    """Return the seed of a model's order, hidden tokens and dropout; the first has the run's."""
    return seed if member == 0 else derive(seed, "member", member)


def member_name(member: int, soup: int) -> str:
    """Return the name of a model in progress lines and notices."""
    return "fine-tune" if soup == 1 else f"fine-tune {member + 1} of {soup}"


def fit_soup(
    run: RunDirectory,
    model: Model,
    train_member: Callable[[int, RunDirectory], TrainingState],
    evaluate: Callable[[TrainingState], Evaluated],
    *,
    soup: int,
    world: World,
) -> TrainingState:
    """Train each model of the soup from the same weights; leave `model` as their average.

    One that was trained before an interruption is loaded from its last checkpoint.
    """
    if soup == 1:
        return train_member(0, run)
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    total = {name: torch.zeros_like(tensor) for name, tensor in start.items()}
    states = []
    for member in range(soup):
        load_exact(model, start, "the start of the soup")
        into = run if member == 0 else _folder_of(run, member, world)
        states.append(train_member(member, into))
        for name, tensor in model.state_dict().items():
            total[name] += tensor / soup
    load_exact(model, total, "the average of the soup")
    state = _summed(states)
    evaluated = evaluate(state)
    evaluated = replace(evaluated, score=world.broadcast(evaluated.score))
    if world.is_main:
        run.rewind_metrics(states[0].step)
        run.log(step=state.step, kind="average", soup=soup, **evaluated.metrics)
    check_evaluated(evaluated, f"the average of {soup} models")
    notice(f"fine-tune: average of {soup} · {evaluated.line}")
    return state.model_copy(
        update={
            "best_score": evaluated.score,
            "best_evaluation": evaluated.metrics,
            "last_evaluation": evaluated.metrics,
        }
    )


def _folder_of(run: RunDirectory, member: int, world: World) -> RunDirectory:
    """Return the folder of a model other than the first; its manifest is the run's."""
    folder = RunDirectory(run.path / SOUP / str(member))
    if world.is_main and not (folder.path / RUN_FILE).exists():
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.write_manifest(run.manifest())
    world.barrier()
    return folder


def _summed(states: list[TrainingState]) -> TrainingState:
    """Return the steps, tokens and seconds of all models together."""
    return TrainingState(
        tokenizer=states[0].tokenizer,
        step=sum(state.step for state in states),
        tokens=sum(state.tokens for state in states),
        seconds=sum(state.seconds for state in states),
        skipped=sum(state.skipped for state in states),
    )
