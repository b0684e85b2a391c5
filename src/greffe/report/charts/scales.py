"""From values to places: scales and where their ticks stand. Knows no drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from greffe.report.number_format import magnitude

NEGLIGIBLE = 1e-9
"""Values that differ by less are drawn as equal ones."""
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
        share = (here - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True)
class Ticks:
    """Even ticks; the axis runs from the first to the last."""

    values: tuple[float, ...]
    step: float

    def decimals(self, factor: float = 1) -> int:
        """Return how many decimals tell multiples of the step apart, each times `factor`."""
        step = factor * self.step
        digits = max(0, -magnitude(step))
        return digits if math.isclose(round(step, digits), step) else digits + 1


def even_ticks(low: float, high: float, most: int, *, whole: bool = False) -> Ticks:
    """At most about `most` round ticks that enclose `low` and `high`; `whole`: no fractions."""
    if high - low <= NEGLIGIBLE * max(1.0, abs(low)):
        room = 0.1 * abs(low)
        low, high = (low - room, high + room) if room > NEGLIGIBLE else (0.0, 1.0)
    step = _round_step((high - low) / max(1, most - 1), whole)
    # Rounding errors of the division must not add a tick.
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    values = tuple(round(index * step, 12) for index in range(first, last + 1))
    return Ticks(values, step)


def share_ticks(values: Iterable[float], most: int) -> Ticks:
    """Ticks for shares, spanning at least a tenth; below 0 or above 1 only if values are."""
    present = list(values)
    low, high = lowest, highest = min(present), max(present)
    if high - low < 0.1:
        middle = min(max((low + high) / 2, 0.05), 0.95)
        low, high = min(low, middle - 0.05), max(high, middle + 0.05)
    ticks = even_ticks(low, high, most)
    kept = (
        tick for tick in ticks.values if (tick >= 0 or lowest < 0) and (tick <= 1 or highest > 1)
    )
    return Ticks(tuple(kept), ticks.step)


def apart(values: Sequence[float], places: Sequence[float], gap: float) -> list[float]:
    """Those of `values`, the last first, whose `places` are at least `gap` from each other."""
    kept: list[tuple[float, float]] = []
    for value, place in reversed(list(zip(values, places, strict=True))):
        if not kept or abs(kept[-1][1] - place) >= gap:
            kept.append((value, place))
    return [value for value, _ in reversed(kept)]


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places moved as little as need be, so that each is `gap` from the next, within the range."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = list(places)
    floor = low
    for index in order:
        moved[index] = max(moved[index], floor)
        floor = moved[index] + gap
    ceiling = high
    for index in reversed(order):
        moved[index] = min(moved[index], ceiling)
        ceiling = moved[index] - gap
    return moved


def _round_step(step: float, whole: bool) -> float:
    step = max(step, 1.0) if whole else step
    size = 10.0 ** math.floor(math.log10(step))
    return next(
        size * factor
        for factor in STEPS
        if size * factor >= step * (1 - 1e-9) and not (whole and size * factor % 1)
    )
