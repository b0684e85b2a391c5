"""Learning rate schedules and training budgets.

Progress runs from 0 to 1 and is measured in steps, epochs, tokens or time. The learning rate is a
function of progress, so that a budget in minutes also completes its schedule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from greffe.config.sections import TrainSpec
from greffe.config.spans import Span

WARMUP_START = 0.01  # of the peak rate: a first step at zero would be wasted


def lr_factor(spec: TrainSpec, progress: float) -> float:
    """Return the learning rate at `progress` as a fraction of the peak rate."""
    if progress < spec.warmup:
        return max(WARMUP_START, progress / spec.warmup)
    rest = min(1.0, (progress - spec.warmup) / (1.0 - spec.warmup))
    match spec.schedule:
        case "constant":
            return 1.0
        case "linear":
            shape = 1.0 - rest
        case "cosine":
            shape = 0.5 * (1.0 + math.cos(math.pi * rest))
    return spec.final_lr + (1.0 - spec.final_lr) * shape


@dataclass(frozen=True)
class Clock:
    """Steps, tokens and seconds trained so far."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Budget:
    """A training budget: a span, and the steps per epoch needed to measure it."""

    span: Span
    steps_per_epoch: float

    @classmethod
    def parse(cls, text: str, steps_per_epoch: float, least_steps: int = 0) -> Budget:
        """Parse `20m`, `2000steps`, `3epochs`, `50Mtokens`; epochs make at least `least_steps`."""
        span = Span.parse(text)
        if span.unit == "epochs":
            span = replace(span, amount=max(span.amount, least_steps / steps_per_epoch))
        return cls(span, steps_per_epoch)

    @property
    def total(self) -> float:
        """Return the whole budget in the unit of `spent`: seconds, tokens or steps."""
        if self.span.unit == "epochs":
            return float(max(1, math.ceil(self.span.amount * self.steps_per_epoch - 1e-9)))
        return math.ceil(self.span.amount) if self.span.unit == "steps" else self.span.amount

    def spent(self, clock: Clock) -> float:
        """Return the amount used so far."""
        match self.span.unit:
            case "seconds":
                return clock.seconds
            case "tokens":
                return float(clock.tokens)
            case _:
                return float(clock.step)

    def progress(self, clock: Clock) -> float:
        """Return the fraction of the budget used, 0 to 1."""
        return min(1.0, self.spent(clock) / self.total)

    def is_over(self, clock: Clock) -> bool:
        """Return whether the budget is used up."""
        return self.spent(clock) >= self.total


@dataclass(frozen=True)
class Cadence:
    """How often something happens during training."""

    span: Span
    budget: Budget

    @classmethod
    def parse(cls, text: str, budget: Budget) -> Cadence:
        """Parse `5%`, `1epochs`, `200steps`, `2m`."""
        return cls(Span.parse(text), budget)

    def crossings(self, clock: Clock) -> int:
        """Return how many times it has been due so far."""
        if self.span.unit == "percent":
            return int(self.budget.progress(clock) * 100.0 / self.span.amount + 1e-9)
        if self.span.unit == "epochs":
            return int(clock.step / (self.span.amount * self.budget.steps_per_epoch) + 1e-9)
        return int(Budget(self.span, self.budget.steps_per_epoch).spent(clock) / self.span.amount)

    def is_due(self, before: Clock, after: Clock) -> bool:
        """Return whether it became due between the two clocks."""
        return self.crossings(after) > self.crossings(before)
