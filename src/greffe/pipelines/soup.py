"""Model soup: several trainings from the same start, and the average of their weights.

Each model sees the texts in another order and with other tokens hidden. The first is the run
itself; the others are kept in its folder until the run is finished, so that each can resume.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import torch

from greffe.errors import InterruptedRunError
from greffe.model.model import Model, build_model
from greffe.model.weights import load_exact
from greffe.pipelines.fit import Evaluated, check_evaluated
from greffe.pipelines.jobs import SideBySide
from greffe.pipelines.members import Classifying, Members, member_name
from greffe.pipelines.run_folder import training_folder
from greffe.pipelines.tracking import tracked
from greffe.progress import Progress, notice
from greffe.run import SOUP, RunDirectory
from greffe.training.checkpoint import TrainingState
from greffe.training.collapse import Restarted
from greffe.training.device import Compute
from greffe.training.distributed import World
from greffe.training.workers import Task, run_side_by_side


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
        into = run if member == 0 else training_folder(run, SOUP, member, world)
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


@dataclass(frozen=True)
class _Soup:
    """What a worker process needs to train any model of a soup."""

    run: RunDirectory
    shared: Classifying
    compute: Compute
    start: dict[str, np.ndarray]
    """The weights that all models begin with."""


def train_ahead(
    run: RunDirectory,
    shared: Classifying,
    compute: Compute,
    model: Model,
    side_by_side: SideBySide,
) -> None:
    """Train the models of a soup side by side, each up to its last checkpoint.

    `model` has the weights that all of them begin with; it is left as it is.
    """
    soup, world = shared.recipe.train.soup, World.join()
    for member in range(1, soup):
        training_folder(run, SOUP, member, world)
    start = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    names = [member_name(member, soup) for member in range(soup)]
    jobs, threads = side_by_side.jobs, side_by_side.threads
    notice(f"fine-tune: the models of the soup, {side_by_side}")
    try:
        with (
            Progress("fine-tune", soup) as progress,
            closing(
                run_side_by_side(
                    _train_member,
                    _Soup(run, shared, compute, start),
                    [Task(member, name) for member, name in enumerate(names)],
                    jobs=jobs,
                    threads=threads,
                    progress=progress,
                )
            ) as trained,
        ):
            for member, line in trained:
                notice(f"{names[member]}: {line}")
    except InterruptedRunError:
        raise InterruptedRunError(
            f"Stopped; the state of each of the {soup} models is saved in {run.path}.",
            hint="continue with the same command and --resume",
        ) from None


def _train_member(soup: _Soup, member: int) -> str:
    """Train one model in a worker process; return how it does on the validation texts.

    The notices of a worker are not seen: what it returns has the restarts too.
    """
    shared, world = soup.shared, World.join()
    design, recipe = shared.design, shared.recipe
    model = build_model(recipe.model, shared.tokenizer.size, design.heads, recipe.seed)
    start = {name: torch.from_numpy(value) for name, value in soup.start.items()}
    load_exact(model, start, "the start of the soup")
    members = Members(shared, soup.compute.place(model), world, lambda: start)
    if member:
        state = members.train(member, training_folder(soup.run, SOUP, member, world))
    else:
        with tracked(soup.run, shared.track, world) as run:
            state = members.train(0, run)
    told = [f" · {state.restarted.describe()}"] if state.restarted else []
    return "".join([members.held_out.evaluate(state).line, *told])


def _summed(states: list[TrainingState]) -> TrainingState:
    """Return the steps, tokens and seconds of all models together."""
    return TrainingState(
        tokenizer=states[0].tokenizer,
        step=sum(state.step for state in states),
        tokens=sum(state.tokens for state in states),
        seconds=sum(state.seconds for state in states),
        skipped=sum(state.skipped for state in states),
        restarted=Restarted.of_soup(state.restarted for state in states),
    )
