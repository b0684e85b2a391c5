"""Cells of tables: a figure as a reader sees it, with the raw one behind it."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.evaluation.intervals import Estimate
from greffe.report.tables import Cell, cell
from greffe.report.words import Words

SHOWN_HASH = 12


def percent_cell(words: Words, x: float) -> Cell:
    """A fraction as a percentage."""
    return cell(words.percent(x), x)


def points_cell(words: Words, x: float | None) -> Cell:
    """A fraction in points, or a dash."""
    return cell(words("number.none"), None) if x is None else cell(words.points(x), x)


def decimal_cell(words: Words, x: float, digits: int) -> Cell:
    """A number with digits after the sign; none where it is whole."""
    return cell(words.decimal(x, 0 if x == int(x) else digits), x)


def count_cell(words: Words, n: int) -> Cell:
    """A whole number."""
    return cell(words.number(n), n)


def probability_cell(words: Words, p: float) -> Cell:
    """A p-value under a heading that says so."""
    return cell(words.probability(p).removeprefix("=").strip(), p)


def bounds_cell(words: Words, low: float, high: float) -> Cell:
    """An interval of shares."""
    return cell(words.interval_percent(low, high), low, high)


def interval_cell(words: Words, estimate: Estimate) -> Cell:
    """The interval of a share."""
    return bounds_cell(words, estimate.low, estimate.high)


def values_cell(words: Words, values: Sequence[float], *, signed: bool = False) -> Cell:
    """Shares of single seeds in points; raw, they stand apart by spaces."""
    shown = " · ".join(words.points(x, signed=signed) for x in values)
    return cell(shown, " ".join(f"{x:.6g}" for x in values))


def answer_cell(words: Words, is_so: bool) -> Cell:
    """Yes or no."""
    return cell(words("number.yes" if is_so else "number.no"), is_so)


def hash_cell(digest: str) -> Cell:
    """The beginning of a hash; raw, all of it."""
    return cell(digest[:SHOWN_HASH], digest)
