"""From values to coordinates: scales and their ticks. Knows no drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from greffe.report.number_format import NumberFormat, magnitude

NEGLIGIBLE = 1e-9
"""Values that differ by less are drawn as equal."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """Maps `low`…`high` to `start`…`end`, linearly or by logarithm."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        low, high, here = self.low, self.high, value
        if self.is_log:
            low, high, here = math.log(low), math.log(high), math.log(value)
        fraction = (here - low) / (high - low) if high > low else 0.5
        return self.start + fraction * (self.end - self.start)


@dataclass(frozen=True)
class Ticks:
    """Even ticks; the axis runs from the first to the last."""

    values: tuple[float, ...]
    step: float

    def decimals(self, factor: float = 1) -> int:
        """Return how many decimals multiples of the step need, each times `factor`."""
        step = factor * self.step
        digits = max(0, -magnitude(step))
        return digits if math.isclose(round(step, digits), step) else digits + 1

    def labels(self, numbers: NumberFormat, percent: bool) -> list[tuple[float, str]]:
        """Return every tick with its label."""
        decimals = self.decimals(100 if percent else 1)
        write = numbers.percent if percent else numbers.decimal
        return [(tick, write(tick, decimals)) for tick in self.values]


def even_ticks(low: float, high: float, most: int, *, whole: bool = False) -> Ticks:
    """Return at most about `most` round ticks around `low` and `high`; `whole`: no fractions."""
    if high - low <= NEGLIGIBLE * max(1.0, abs(low)):
        margin = 0.1 * abs(low)
        low, high = (low - margin, high + margin) if margin > NEGLIGIBLE else (0.0, 1.0)
    step = _round_step((high - low) / max(1, most - 1), whole)
    # Rounding errors of the division must not add a tick.
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    values = tuple(round(index * step, 12) for index in range(first, last + 1))
    return Ticks(values, step)


def fraction_ticks(values: Sequence[float], most: int) -> Ticks:
    """Return ticks that span at least a tenth; below 0 or above 1 only if values are."""
    low, high = lowest, highest = min(values), max(values)
    if high - low < 0.1:
        middle = min(max((low + high) / 2, 0.05), 0.95)
        low, high = min(low, middle - 0.05), max(high, middle + 0.05)
    ticks = even_ticks(low, high, most)
    inside = (
        tick for tick in ticks.values if (tick >= 0 or lowest < 0) and (tick <= 1 or highest > 1)
    )
    return Ticks(tuple(inside), ticks.step)


def apart(values: Sequence[float], coordinates: Sequence[float], gap: float) -> list[float]:
    """Return the values whose coordinates are at least `gap` apart; the last always stays."""
    chosen: list[tuple[float, float]] = []
    for value, x in reversed(list(zip(values, coordinates, strict=True))):
        if not chosen or abs(chosen[-1][1] - x) >= gap:
            chosen.append((value, x))
    return [value for value, _ in reversed(chosen)]


def _round_step(step: float, whole: bool) -> float:
    step = max(step, 1.0) if whole else step
    size = 10.0 ** math.floor(math.log10(step))
    return next(
        size * factor
        for factor in STEPS
        if size * factor >= step * (1 - 1e-9) and not (whole and size * factor % 1)
    )
