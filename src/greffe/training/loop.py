"""The training loop: a generator of steps, used by all pipelines.

Between two steps the caller evaluates, logs and saves; there are no callbacks. Every random choice
of a step is a function of the seed and the step, so a loop started at step k continues exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from greffe.config.sections import TrainSpec
from greffe.data.batches import Batch
from greffe.errors import DivergedError
from greffe.model.model import Model
from greffe.objectives.objective import Objective
from greffe.seeding import derive
from greffe.training.distributed import World
from greffe.training.gradients import Gradients
from greffe.training.optim import freeze_below, lowest_moving_level, set_rates
from greffe.training.schedule import Budget, Clock, lr_factor


@dataclass(frozen=True)
class Step:
    """The result of one optimizer step."""

    before: Clock
    clock: Clock
    loss: float
    terms: dict[str, float]
    lr: float
    gradient_norm: float
    tokens: int
    is_skipped: bool
    skipped_in_a_row: int
    is_interrupted: bool


def train(
    model: Model,
    objective: Objective,
    optimizer: torch.optim.Optimizer,
    batches: Callable[[int], Sequence[Batch]],
    *,
    spec: TrainSpec,
    budget: Budget,
    seed: int,
    start: Clock,
    skipped_in_a_row: int = 0,
    world: World,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> Iterator[Step]:
    """Yield steps until the budget is used up; `batches(step)` gives this rank's micro-batches."""
    clock = start
    layers = model.spec.layers
    gradients = Gradients(list(model.parameters()), world)
    model.base.embedding.sparse = True  # its gradient holds only the rows that a batch used
    mark = time.perf_counter()
    while not budget.is_over(clock):
        model.train()
        lr = spec.lr * lr_factor(spec, budget.progress(clock))
        set_rates(optimizer, lr)
        epoch = int(clock.step / budget.steps_per_epoch + 1e-9)
        freeze_below(model, lowest_moving_level(spec, layers, epoch), layers)

        parts = batches(clock.step)
        names = list(objective.weights)
        *counts, tokens = world.sum(
            [
                *(sum(part.counts.get(name, 0.0) for part in parts) for name in names),
                sum(part.tokens for part in parts),
            ]
        )
        count_of = dict(zip(names, (max(count, 1e-9) for count in counts), strict=True))

        gradients.clear()
        sums = dict.fromkeys(names, 0.0)
        for number, part in enumerate(parts):
            torch.manual_seed(derive(seed, "dropout", clock.step, world.rank, number))
            total = torch.zeros(())
            for name, value in objective.loss(model, part).items():
                sums[name] += float(value.detach())
                total = total + value * (objective.weights[name] / count_of[name])
            if total.requires_grad:
                total.backward()  # type: ignore[no-untyped-call]
        gradients.gather()

        # One all-reduce for the losses, the elapsed time and the request to stop.
        now = time.perf_counter()
        *global_sums, elapsed, interruptions = world.sum(
            [*sums.values(), (now - mark) / world.size, float(is_interrupted())]
        )
        mark = now
        terms = {
            name: value / count_of[name] for name, value in zip(names, global_sums, strict=True)
        }
        loss = sum(objective.weights[name] * value for name, value in terms.items())
        norm = gradients.clip(spec.clip)
        is_finite = math.isfinite(loss) and math.isfinite(norm)
        if is_finite:
            optimizer.step()
        skipped_in_a_row = 0 if is_finite else skipped_in_a_row + 1

        before = clock
        clock = replace(
            clock,
            step=clock.step + 1,
            tokens=clock.tokens + int(tokens),
            seconds=clock.seconds + elapsed,
        )
        yield Step(
            before=before,
            clock=clock,
            loss=loss,
            terms=terms,
            lr=lr,
            gradient_norm=norm,
            tokens=int(tokens),
            is_skipped=not is_finite,
            skipped_in_a_row=skipped_in_a_row,
            is_interrupted=interruptions > 0,
        )
        if skipped_in_a_row >= spec.nonfinite_limit:
            raise DivergedError(
                f"The loss was not finite for {skipped_in_a_row} steps in a row; training stopped.",
                expected="finite losses and gradients",
                found=f"loss {loss}, gradient norm {norm} at step {clock.step}",
                hint=f"use {lower_rate(spec)}",
            )


def lower_rate(spec: TrainSpec) -> str:
    """Return the advice for a training that diverged."""
    return f"a lower learning rate, for example --set train.lr={spec.lr / 3:.1g}"
