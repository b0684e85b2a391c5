"""What the charts are given: names, figures and kinds. Knows nothing of drawing.

A `kind` chooses colour, dash and marker: an arm's kind, `pretrained-2` for the second arm of that
kind (see `distinct_kinds`), or any other name, which then takes the next free style.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greffe.study.document import CalibrationBin


@dataclass(frozen=True)
class Point:
    """One measured value, with its interval if there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """Points of one line, in any order."""

    name: str
    points: Sequence[Point]
    kind: str


@dataclass(frozen=True)
class IntervalRow:
    """A mean with its interval, and the single values behind it."""

    name: str
    mean: float
    low: float
    high: float
    values: Sequence[float]
    kind: str


@dataclass(frozen=True)
class BarRow:
    """One bar. Rows of the same name stand together, told apart by `series`."""

    name: str
    value: float
    kind: str = ""
    series: str = ""
    text: str = ""
    """What is written at its end; the value itself if empty."""


@dataclass(frozen=True)
class CalibrationSeries:
    """The calibration of one arm."""

    name: str
    bins: Sequence[CalibrationBin]
    kind: str


@dataclass(frozen=True)
class ChartTexts:
    """Every word and sign of the charts, in the reader's language."""

    decimal: str = "."
    thousands: str = ","
    percent: str = "\N{NO-BREAK SPACE}%"
    """Follows the figure, with its space."""
    points: str = "\N{NO-BREAK SPACE}points"
    """Follows a difference of percentages, with its space."""
    interval: str = "{low} to {high}"
    axis_from: str = "axis from {value}"
    """Said of an axis that does not begin at zero."""
    texts: str = "{count} texts"
    no_data: str = "No data."
    of_row: str = "{share} of the row"
    perfect: str = "as sure as right"
    """The diagonal of a calibration chart."""
    yes: str = "yes"
    no: str = "no"
    save_svg: str = "SVG"
    save_png: str = "PNG"
    save_csv: str = "CSV"
    save: str = "Save “{title}” as {format}"
    """What a screen reader says of an export button."""
    data: str = "The figures behind this chart"
    hint: str = "Arrow keys move from value to value."
    """Read out when a chart takes the keyboard."""


ENGLISH = ChartTexts()


def distinct_kinds(kinds: Iterable[str]) -> list[str]:
    """Kinds made unique by a number, so that an arm keeps its colour through all charts."""
    seen: Counter[str] = Counter()
    result = []
    for kind in kinds:
        seen[kind] += 1
        result.append(kind if seen[kind] == 1 else f"{kind}-{seen[kind]}")
    return result
