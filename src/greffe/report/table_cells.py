"""Cells of tables: a figure as a reader sees it, with the raw one behind it."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.evaluation.intervals import Estimate
from greffe.report.catalog import Catalog
from greffe.report.report_table import Cell, cell

SHOWN_HASH = 12


def percent_cell(catalog: Catalog, x: float) -> Cell:
    """A fraction as a percentage."""
    return cell(catalog.percent(x), x)


def points_cell(catalog: Catalog, x: float | None) -> Cell:
    """A fraction in points, or a dash."""
    return cell(catalog("number.none"), None) if x is None else cell(catalog.points(x), x)


def decimal_cell(catalog: Catalog, x: float, digits: int) -> Cell:
    """A number with digits after the sign; none where it is whole."""
    return cell(catalog.decimal(x, 0 if x == int(x) else digits), x)


def count_cell(catalog: Catalog, n: int) -> Cell:
    """A whole number."""
    return cell(catalog.number(n), n)


def probability_cell(catalog: Catalog, p: float) -> Cell:
    """A p-value under a heading that says so."""
    return cell(catalog.probability(p).removeprefix("=").strip(), p)


def bounds_cell(catalog: Catalog, low: float, high: float) -> Cell:
    """An interval of shares."""
    return cell(catalog.interval_percent(low, high), low, high)


def interval_cell(catalog: Catalog, estimate: Estimate) -> Cell:
    """The interval of a share."""
    return bounds_cell(catalog, estimate.low, estimate.high)


def values_cell(catalog: Catalog, values: Sequence[float], *, signed: bool = False) -> Cell:
    """Shares of single seeds in points; raw, they stand apart by spaces."""
    shown = " · ".join(catalog.points(x, signed=signed) for x in values)
    return cell(shown, " ".join(f"{x:.6g}" for x in values))


def answer_cell(catalog: Catalog, is_so: bool) -> Cell:
    """Yes or no."""
    return cell(catalog("number.yes" if is_so else "number.no"), is_so)


def hash_cell(digest: str) -> Cell:
    """The beginning of a hash; raw, all of it."""
    return cell(digest[:SHOWN_HASH], digest)
