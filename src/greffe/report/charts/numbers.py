"""Numbers as the reader's language writes them. Knows no chart."""

from __future__ import annotations

import math

from greffe.report.charts.shapes import ChartTexts

MINUS = "\N{MINUS SIGN}"
MOST_DECIMALS = 9


def figure(value: float, catalog: ChartTexts, decimals: int, *, signed: bool = False) -> str:
    """`value` with so many decimals, and a sign before positive ones if `signed`."""
    text = f"{abs(value):,.{decimals}f}"
    whole, _, rest = text.partition(".")
    whole = whole.replace(",", catalog.thousands)
    is_zero = not text.strip("0.,")
    sign = "" if is_zero else MINUS if value < 0 else "+" if signed else ""
    return sign + whole + (catalog.decimal + rest if rest else "")


def plain(value: float, catalog: ChartTexts, *, signed: bool = False) -> str:
    """`value` with about three digits; whole numbers stay whole."""
    if value == round(value):
        return figure(value, catalog, 0, signed=signed)
    decimals = min(max(0, 2 - _magnitude(value)), MOST_DECIMALS)
    return figure(value, catalog, decimals, signed=signed)


def percentage(share: float, catalog: ChartTexts, decimals: int = 1) -> str:
    """A share as a percentage."""
    return figure(100 * share, catalog, decimals) + catalog.percent


def points(share: float, catalog: ChartTexts, decimals: int = 1) -> str:
    """A difference of shares as percentage points, with its sign."""
    return figure(100 * share, catalog, decimals, signed=True) + catalog.points


def decimals_of(step: float) -> int:
    """Decimals that tell multiples of `step` apart."""
    decimals = max(0, -_magnitude(step))
    return decimals if math.isclose(round(step, decimals), step) else decimals + 1


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0
