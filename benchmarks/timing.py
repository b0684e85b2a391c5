"""Time pieces of work in interleaved rounds and summarize the rounds.

Contenders take turns: in every round each runs one piece, so that changes of the clock rate and
other processes affect all of them alike. Ratios are taken within a round, then their median.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from types import TracebackType
from typing import Literal, Self


@dataclass(frozen=True)
class Sample:
    """One round of one contender."""

    value: float
    """In the unit of the case."""
    peak_fraction: float | None = None
    """Fraction of the peak of matrix products, measured before and after this piece."""
    details: Mapping[str, float] = field(default_factory=dict)
    """The numbers from which the value was computed."""


@dataclass(frozen=True)
class Piece:
    """One timed piece of work."""

    seconds: float
    peak: float
    """Operations per second: the mean of measurements before and after."""

    def speed(self, amount: float, operations: int | None = None) -> Sample:
        """Return the amount per second."""
        return self._sample(amount / self.seconds, amount, operations)

    def duration(self, times: float, operations: int | None = None) -> Sample:
        """Return the seconds for `times` as much work."""
        return self._sample(self.seconds * times, times, operations)

    def _sample(self, value: float, amount: float, operations: int | None) -> Sample:
        details = {"seconds": self.seconds, "amount": amount, "peak": self.peak}
        if operations is None:
            return Sample(value, None, details)
        details["operations"] = operations
        return Sample(value, operations / self.seconds / self.peak, details)


class Stopwatch:
    """`with watch: work()`, then `watch.piece`; or start() and stop() from inside a library."""

    def __init__(self, peak: Callable[[], float]) -> None:
        self._measure_peak = peak
        self.piece: Piece | None = None

    def start(self) -> None:
        """Measure the peak, then start the clock."""
        self.piece = None
        self._before = self._measure_peak()
        self._began = time.perf_counter()

    def stop(self) -> None:
        """Stop the clock, then measure the peak again."""
        seconds = time.perf_counter() - self._began
        self.piece = Piece(seconds, (self._before + self._measure_peak()) / 2)

    def taken(self) -> Piece:
        """Return the last piece."""
        assert self.piece is not None, "nothing was timed"
        return self.piece

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.stop()


def time_steps(watch: Stopwatch, step: Callable[[], None], *, warmup: int, steps: int) -> Piece:
    """Run `warmup` untimed steps, then time `steps` steps."""
    for _ in range(warmup):
        step()
    with watch:
        for _ in range(steps):
            step()
    return watch.taken()


Contender = Callable[[int], Sample]
"""Runs its piece of a round (0-based)."""


def timed_command(command: Sequence[str]) -> Contender:
    """Return the contender that runs a command in a new process; it has run once to warm up."""

    def run(_: int) -> Sample:
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return Sample(time.perf_counter() - began)

    run(0)
    return run


@dataclass(frozen=True)
class Goal:
    """A goal of the project for greffe in this case."""

    what: str
    measure: Literal["ratio", "peak", "value"]
    target: float
    """At least this; for a value of which less is better, less than this."""
    over: str = ""
    """The contender that a ratio compares with."""
    in_bf16: bool | None = None
    """Whether it is a goal for machines with or without fast bf16; None: for both."""


@dataclass(frozen=True)
class Results:
    """All rounds of one case."""

    unit: str
    less_is_better: bool
    samples: Mapping[str, Sequence[Sample]]
    """By contender."""

    def value(self, name: str) -> float:
        """Return the median over the rounds."""
        return median(sample.value for sample in self.samples[name])

    def spread(self, name: str) -> tuple[float, float]:
        """Return the lowest and the highest value."""
        values = [sample.value for sample in self.samples[name]]
        return min(values), max(values)

    def peak_fraction(self, name: str) -> float | None:
        """Return the median fraction of the peak; None if no operations were counted."""
        found = [sample.peak_fraction for sample in self.samples[name]]
        fractions = [fraction for fraction in found if fraction is not None]
        return median(fractions) if fractions else None

    def ratio(self, name: str, over: str) -> float:
        """Return how many times better `name` is: the median of the ratios of each round."""
        pairs = zip(self.samples[name], self.samples[over], strict=True)
        if self.less_is_better:
            return median(other.value / own.value for own, other in pairs)
        return median(own.value / other.value for own, other in pairs)

    def measured(self, goal: Goal, name: str) -> float:
        """Return the measured value of a goal."""
        match goal.measure:
            case "ratio":
                return self.ratio(name, goal.over)
            case "peak":
                return self.peak_fraction(name) or 0.0
            case "value":
                return self.value(name)

    def reaches(self, goal: Goal, name: str) -> bool:
        """Return whether the goal is reached."""
        found = self.measured(goal, name)
        if goal.measure == "value" and self.less_is_better:
            return found < goal.target
        return found >= goal.target


def interleave(
    contenders: Mapping[str, Contender],
    rounds: int,
    on_sample: Callable[[int, str, Sample], None] = lambda number, name, sample: None,
) -> dict[str, list[Sample]]:
    """Run all contenders in turn and return their samples; `on_sample` is called after each."""
    samples: dict[str, list[Sample]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name, run in contenders.items():
            sample = run(number)
            samples[name].append(sample)
            on_sample(number, name, sample)
    return samples
