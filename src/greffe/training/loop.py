"""The training loop: a generator of steps, used by all pipelines.

Between two steps the caller evaluates, logs and saves; there are no callbacks. Every random choice
of a step is a function of the seed and the step, so a loop started at step k continues exactly.

A GPU computes behind the host, which only tells it what to do. Reading a number from it waits until
it has caught up, so losses, norms and skipped steps stay tensors until the caller reads them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

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
from greffe.training.shared_loss import SharedLoss
from greffe.training.update import Outcome, Updates


@dataclass(frozen=True)
class Step:
    """The result of one optimizer step."""

    before: Clock
    clock: Clock
    lr: float
    tokens: int
    is_interrupted: bool
    outcome: Outcome
    """Reading it waits for a GPU; so do the properties below."""

    @property
    def loss(self) -> float:
        """The weighted sum of the terms."""
        return self.outcome.read().loss

    @property
    def terms(self) -> dict[str, float]:
        """Mean loss of each term."""
        return self.outcome.read().terms

    @property
    def gradient_norm(self) -> float:
        """Before clipping."""
        return self.outcome.read().gradient_norm

    @property
    def is_skipped(self) -> bool:
        """Whether loss or gradient were not finite, so that nothing changed."""
        return self.skipped_in_a_row > 0

    @property
    def skipped_in_a_row(self) -> int:
        """Skipped steps up to and with this one."""
        return self.outcome.read().skipped_in_a_row


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
    skipped: int = 0,
    skipped_in_a_row: int = 0,
    world: World,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> Iterator[Step]:
    """Yield steps until the budget is used up; `batches(step)` gives this rank's micro-batches."""
    clock = start
    layers = model.spec.layers
    device = model.base.embedding.weight.device
    is_host = device.type == "cpu"
    gradients = Gradients(list(model.parameters()))
    # Its gradient then holds only the rows that a batch used.
    model.base.embedding.sparse = is_host and world.size == 1
    shared = SharedLoss(model, objective, world)
    updates = Updates(optimizer, skipped=skipped, in_a_row=skipped_in_a_row)
    mark = time.perf_counter()
    while not budget.is_over(clock):
        model.train()
        lr = spec.lr * lr_factor(spec, budget.progress(clock))
        set_rates(optimizer, lr)
        epoch = int(clock.step / budget.steps_per_epoch + 1e-9)
        lowest = lowest_moving_level(spec, layers, epoch)
        freeze_below(model, lowest, layers, lora=spec.lora.rank > 0)
        shared.follow_freezing()

        parts = [part.to(device, non_blocking=True) for part in batches(clock.step)]
        names = list(objective.weights)
        *counts, tokens = world.sum(
            [
                *(sum(part.counts.get(name, 0.0) for part in parts) for name in names),
                sum(part.tokens for part in parts),
            ]
        )
        count_of = dict(zip(names, (max(count, 1e-9) for count in counts), strict=True))

        gradients.clear()
        zero = torch.zeros((), device=device)
        sums: dict[str, float | Tensor] = dict.fromkeys(names, 0.0 if is_host else zero)
        for number, part in enumerate(parts):
            torch.manual_seed(derive(seed, "dropout", clock.step, world.rank, number))
            total = zero
            for name, value in shared.terms(part, is_last=number == len(parts) - 1).items():
                sums[name] = sums[name] + (float(value.detach()) if is_host else value.detach())
                total = total + value * (objective.weights[name] / count_of[name])
            if total.requires_grad:
                shared.backward(total)
        if not parts:
            shared.join_without_rows()
        gradients.gather()

        now = time.perf_counter()
        global_sums, (elapsed, interruptions) = _over_ranks(
            world, list(sums.values()), [(now - mark) / world.size, float(is_interrupted())]
        )
        mark = now
        terms = {
            name: value / count_of[name] for name, value in zip(names, global_sums, strict=True)
        }
        loss = sum(objective.weights[name] * value for name, value in terms.items())
        outcome = updates.apply(loss, gradients.clip(spec.clip), terms)

        before = clock
        clock = replace(
            clock,
            step=clock.step + 1,
            tokens=clock.tokens + int(tokens),
            seconds=clock.seconds + elapsed,
        )
        step = Step(before, clock, lr, int(tokens), interruptions > 0, outcome)
        yield step
        if outcome.is_read and step.skipped_in_a_row >= spec.nonfinite_limit:
            raise DivergedError(
                f"The loss was not finite for {step.skipped_in_a_row} steps in a row; "
                "training stopped.",
                expected="finite losses and gradients",
                found=f"loss {step.loss}, gradient norm {step.gradient_norm} at step {clock.step}",
                hint=f"use {lower_rate(spec)}",
            )


def _over_ranks(
    world: World, losses: Sequence[float | Tensor], others: Sequence[float]
) -> tuple[Sequence[float | Tensor], list[float]]:
    """Return the sums over all ranks of losses, numbers or tensors, and of other numbers."""
    if not isinstance(losses[0], Tensor):  # one exchange for all
        total = world.sum([*losses, *others])  # type: ignore[list-item]
        return total[: len(losses)], total[len(losses) :]
    # On a GPU, losses have an exchange of their own, which nobody waits for.
    stacked = torch.stack([torch.as_tensor(loss) for loss in losses])
    return world.sum_tensor(stacked).unbind(), world.sum(others)


def lower_rate(spec: TrainSpec) -> str:
    """Return the advice for a training that diverged."""
    return f"a lower learning rate, for example --set train.lr={spec.lr / 3:.1g}"
