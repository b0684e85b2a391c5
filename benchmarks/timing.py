"""Pieces of work timed in turn, and what their rounds say together. Knows no torch and no case.

Contenders take turns: round by round each runs one piece, so that a drifting clock or a busy
neighbour meets all of them alike. Ratios are taken within a round, then their median.
"""

from __future__ import annotations

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
    share: float | None = None
    """Of the peak of matrix products, measured around this very piece."""
    details: Mapping[str, float] = field(default_factory=dict)
    """What the value was made of."""


@dataclass(frozen=True)
class Piece:
    """One timed stretch of work."""

    seconds: float
    peak: float
    """Operations a second: mean of what was measured just before and just after."""

    def speed(self, amount: float, operations: int | None = None) -> Sample:
        """So much a second."""
        return self._sample(amount / self.seconds, amount, operations)

    def duration(self, times: float, operations: int | None = None) -> Sample:
        """Seconds for `times` as much work."""
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
        """Measure the peak, then the clock runs."""
        self.piece = None
        self._before = self._measure_peak()
        self._began = time.perf_counter()

    def stop(self) -> None:
        """The clock stops, then the peak is measured again."""
        seconds = time.perf_counter() - self._began
        self.piece = Piece(seconds, (self._before + self._measure_peak()) / 2)

    def taken(self) -> Piece:
        """What was timed last."""
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
    """A few steps that do not count, then so many that do."""
    for _ in range(warmup):
        step()
    with watch:
        for _ in range(steps):
            step()
    return watch.taken()


Contender = Callable[[int], Sample]
"""Runs its piece of a round (0-based)."""


@dataclass(frozen=True)
class Goal:
    """What the project wants of greffe in this case."""

    what: str
    measure: Literal["ratio", "share", "value"]
    target: float
    """At least this; for a value of which less is better, less than this."""
    over: str = ""
    """Whom a ratio compares with."""


@dataclass(frozen=True)
class Results:
    """All rounds of one case."""

    unit: str
    less_is_better: bool
    samples: Mapping[str, Sequence[Sample]]
    """By contender."""

    def value(self, name: str) -> float:
        """Median over the rounds."""
        return median(sample.value for sample in self.samples[name])

    def spread(self, name: str) -> tuple[float, float]:
        """Lowest and highest round."""
        values = [sample.value for sample in self.samples[name]]
        return min(values), max(values)

    def share(self, name: str) -> float | None:
        """Median share of the peak; None where no arithmetic was counted."""
        shares = [sample.share for sample in self.samples[name] if sample.share is not None]
        return median(shares) if shares else None

    def ratio(self, name: str, over: str) -> float:
        """How many times better: the median of the rounds' own ratios."""
        pairs = zip(self.samples[name], self.samples[over], strict=True)
        if self.less_is_better:
            return median(other.value / own.value for own, other in pairs)
        return median(own.value / other.value for own, other in pairs)

    def measured(self, goal: Goal, name: str) -> float:
        """The figure that a goal is about."""
        match goal.measure:
            case "ratio":
                return self.ratio(name, goal.over)
            case "share":
                return self.share(name) or 0.0
            case "value":
                return self.value(name)

    def reaches(self, goal: Goal, name: str) -> bool:
        """Whether the figure is on the right side of the target."""
        found = self.measured(goal, name)
        if goal.measure == "value" and self.less_is_better:
            return found < goal.target
        return found >= goal.target


def interleave(
    contenders: Mapping[str, Contender],
    rounds: int,
    said: Callable[[int, str, Sample], None] = lambda number, name, sample: None,
) -> dict[str, list[Sample]]:
    """Every contender's samples, taken in turn; `said` hears of each."""
    samples: dict[str, list[Sample]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name, run in contenders.items():
            sample = run(number)
            samples[name].append(sample)
            said(number, name, sample)
    return samples
