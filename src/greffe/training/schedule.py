"""Schedules and budgets as plain functions of how far a training is. Knows no torch.

Progress runs from 0 to 1 and may follow steps, epochs, tokens or the clock; the learning rate
follows progress, so that a budget in minutes ends with its schedule complete.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from greffe.config.recipe import TrainSpec
from greffe.config.spans import Span

WARMUP_START = 0.01  # of the highest rate: a first step at zero would be a step lost


def lr_factor(spec: TrainSpec, progress: float) -> float:
    """Learning rate at `progress` as a share of the highest."""
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
    """How much of a training is done: what budgets and cadences are measured against."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Budget:
    """A span made measurable by knowing how many steps an epoch has."""

    span: Span
    steps_per_epoch: float

    @classmethod
    def parse(cls, text: str, steps_per_epoch: float, least_steps: int = 0) -> Budget:
        """`20m`, `2000steps`, `3epochs`, `50Mtokens`; epochs make at least `least_steps`."""
        span = Span.parse(text)
        if span.unit == "epochs":
            span = replace(span, amount=max(span.amount, least_steps / steps_per_epoch))
        return cls(span, steps_per_epoch)

    @property
    def total(self) -> float:
        """The whole, in the unit that `spent` counts: seconds, tokens or steps."""
        if self.span.unit == "epochs":
            return float(math.ceil(self.span.amount * self.steps_per_epoch - 1e-9))
        return math.ceil(self.span.amount) if self.span.unit == "steps" else self.span.amount

    def spent(self, clock: Clock) -> float:
        """What is used up so far."""
        match self.span.unit:
            case "seconds":
                return clock.seconds
            case "tokens":
                return float(clock.tokens)
            case _:
                return float(clock.step)

    def progress(self, clock: Clock) -> float:
        """Share of the budget used, 0 to 1."""
        return min(1.0, self.spent(clock) / self.total)

    def is_over(self, clock: Clock) -> bool:
        """True when nothing is left."""
        return self.spent(clock) >= self.total


@dataclass(frozen=True)
class Cadence:
    """How often something happens: crossed between two clocks, or not."""

    span: Span
    budget: Budget

    @classmethod
    def parse(cls, text: str, budget: Budget) -> Cadence:
        """`5%`, `1epochs`, `200steps`, `2m`."""
        return cls(Span.parse(text), budget)

    def crossings(self, clock: Clock) -> int:
        """How many times it has been due by now."""
        if self.span.unit == "percent":
            return int(self.budget.progress(clock) * 100.0 / self.span.amount + 1e-9)
        if self.span.unit == "epochs":
            return int(clock.step / (self.span.amount * self.budget.steps_per_epoch) + 1e-9)
        return int(Budget(self.span, self.budget.steps_per_epoch).spent(clock) / self.span.amount)

    def is_due(self, before: Clock, after: Clock) -> bool:
        """True if it fell due between the two."""
        return self.crossings(after) > self.crossings(before)
