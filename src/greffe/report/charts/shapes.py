"""What the charts are given: names, figures and kinds. Knows nothing of drawing.

A `kind` chooses colour, dash and marker: an arm's kind, `pretrained-2` for the second arm of that
kind (see `distinct_kinds`), or any other name, which then takes the next free style.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from greffe.report import number_format as numbers
from greffe.report.number_format import NO_BREAK, Language

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
class Heat:
    """A matrix with its labels, on a scale from `low` to `high`."""

    values: Sequence[Sequence[float]]
    low: float
    high: float
    is_choice: bool
    """Values are 0 or 1 only: no or yes."""
    meaning: str
    row_label: str
    column_label: str


@dataclass(frozen=True)
class ChartTexts:
    """Every text of the charts, in the reader's language."""

    language: Language = "en"
    """Of the numbers."""
    points: str = "points"
    """The unit of a difference of percentages."""
    interval: str = "{low} to {high}"
    axis_from: str = "axis from {value}"
    """Said of an axis that does not begin at zero."""
    texts: str = "{count} texts"
    no_data: str = "No data."
    of_row: str = "{share} of the row"
    perfect: str = "perfect calibration"
    """The diagonal of a calibration chart."""
    yes: str = "yes"
    no: str = "no"
    save_svg: str = "SVG"
    save_png: str = "PNG"
    save_csv: str = "CSV"
    save: str = "Save “{title}” as {format}"
    """What a screen reader says of an export button."""
    data: str = "Data of this chart"
    hint: str = "Use the arrow keys to move from value to value."
    """Read out when a chart takes the keyboard."""

    def decimal(self, x: float, digits: int, *, signed: bool = False) -> str:
        """Return a number with so many decimals."""
        return numbers.decimal(x, digits, self.language, signed=signed)

    def plain(self, x: float, *, signed: bool = False) -> str:
        """Return a number with about three digits."""
        return numbers.plain(x, self.language, signed=signed)

    def percent(self, x: float, digits: int = 1) -> str:
        """Return a fraction as a percentage."""
        return numbers.percent(x, self.language, digits)

    def signed_points(self, x: float) -> str:
        """Return a difference of fractions in points, with sign and unit."""
        return f"{numbers.points(x, self.language, signed=True)}{NO_BREAK}{self.points}"


ENGLISH = ChartTexts()


def distinct_kinds(kinds: Iterable[str]) -> list[str]:
    """Kinds made unique by a number, so that an arm keeps its colour through all charts."""
    seen: Counter[str] = Counter()
    result = []
    for kind in kinds:
        seen[kind] += 1
        result.append(kind if seen[kind] == 1 else f"{kind}-{seen[kind]}")
    return result
