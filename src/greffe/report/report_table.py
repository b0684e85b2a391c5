"""Tables of a report: defined once, written as HTML, Markdown and CSV.

A cell has a text and the raw values behind it. CSV gets the raw values under stable English names,
so that a program reads the same file whatever the page's language. Knows no study.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Generic, TypeVar

from greffe.display import markdown_text
from greffe.evaluation.intervals import Estimate
from greffe.report.catalog import Catalog

Raw = str | int | float | bool | None
Item = TypeVar("Item")

WRITTEN_HASH = 12
"""Characters of a hash that a page shows."""


@dataclass(frozen=True)
class Column:
    """A heading, and the name of each raw value below it."""

    heading: str
    keys: tuple[str, ...]
    is_number: bool = True


@dataclass(frozen=True)
class Cell:
    """What a reader sees, and the raw values: as many as the column has names."""

    shown: str
    values: tuple[Raw, ...]


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    emphasised: frozenset[int] = field(default_factory=frozenset)
    """Rows that sum up others."""

    def __post_init__(self) -> None:
        for row in self.rows:
            assert [len(cell.values) for cell in row] == [len(c.keys) for c in self.columns]


def cell(shown: str, *values: Raw) -> Cell:
    """Return a cell; its raw value is its text unless others are given."""
    return Cell(shown, values or (shown,))


# --- built column by column -----------------------------------------------------------------------


class TableBuilder(Generic[Item]):
    """A table with one row per item; each call adds a column.

    `heading` is an id below `column` in the catalogs, or a whole id if it has a dot. `keys` name
    the raw values in CSV; by default the heading's id does.
    """

    def __init__(self, items: Iterable[Item], catalog: Catalog) -> None:
        self.items = list(items)
        self.catalog = catalog
        self._columns: list[Column] = []
        self._cells: list[list[Cell]] = []

    def build(self, name: str, title: str | None = None, emphasised: Iterable[int] = ()) -> Table:
        """Return the table; its title is `table.NAME` in the catalogs unless it is given."""
        rows = [list(row) for row in zip(*self._cells, strict=True)]
        title = self.catalog(f"table.{name}") if title is None else title
        return Table(name, title, self._columns, rows, frozenset(emphasised))

    def add(
        self,
        heading: str,
        make: Callable[[Item], Cell],
        *keys: str,
        is_number: bool = True,
        written: str | None = None,
    ) -> None:
        """Add a column of cells; `written` is its heading where no catalog has one."""
        if written is None:
            written = self.catalog(heading if "." in heading else f"column.{heading}")
        self._columns.append(Column(written, keys or (heading,), is_number))
        self._cells.append([make(item) for item in self.items])

    def text(
        self,
        heading: str,
        show: Callable[[Item], str],
        raw: Callable[[Item], Raw] | None = None,
        key: str | None = None,
    ) -> None:
        """Add a column of texts; `raw` gives the values for CSV where they differ."""

        def make(item: Item) -> Cell:
            return cell(show(item)) if raw is None else cell(show(item), raw(item))

        self.add(heading, make, key or heading, is_number=False)

    def count(self, heading: str, get: Callable[[Item], int | None], key: str = "") -> None:
        """Add a column of whole numbers."""
        self.optional(heading, get, self.catalog.number, key)

    def percent(self, heading: str, get: Callable[[Item], float | None], key: str = "") -> None:
        """Add a column of fractions, as percentages."""
        self.optional(heading, get, self.catalog.percent, key)

    def decimal(
        self, heading: str, get: Callable[[Item], float], digits: int, key: str = ""
    ) -> None:
        """Add a column of numbers; whole ones have no decimals."""

        def write(x: float) -> str:
            return self.catalog.decimal(x, 0 if x == int(x) else digits)

        self.optional(heading, get, write, key)

    def optional(
        self,
        heading: str,
        get: Callable[[Item], Raw],
        write: Callable[..., str],
        key: str = "",
    ) -> None:
        """Add a column of values written by `write`; a dash where there is none."""

        def make(item: Item) -> Cell:
            value = get(item)
            return cell(self.catalog("number.none") if value is None else write(value), value)

        self.add(heading, make, key or heading)

    def answer(self, heading: str, get: Callable[[Item], bool], key: str = "") -> None:
        """Add a column of yes and no."""
        self.optional(
            heading, get, lambda yes: self.catalog("number.yes" if yes else "number.no"), key
        )

    def p_value(self, heading: str, get: Callable[[Item], float]) -> None:
        """Add a column of p-values."""
        self.optional(
            heading, get, lambda p: self.catalog.p_value(p).removeprefix("=").strip(), heading
        )

    def interval(
        self,
        get: Callable[[Item], tuple[float, float] | None],
        *,
        heading: str = "interval",
        prefix: str = "",
        write: Callable[[float, float], str] | None = None,
    ) -> None:
        """Add a column of intervals, of fractions unless `write` says otherwise."""
        write = write or self.catalog.interval_percent

        def make(item: Item) -> Cell:
            bounds = get(item)
            if bounds is None:
                return cell(self.catalog("number.none"), None, None)
            return cell(write(*bounds), *bounds)

        self.add(heading, make, f"{prefix}low", f"{prefix}high")

    def seeds(self, get: Callable[[Item], Sequence[float]], *, signed: bool = False) -> None:
        """Add a column of every seed's value in points; raw, they are separated by spaces."""

        def make(item: Item) -> Cell:
            values = get(item)
            shown = " · ".join(self.catalog.points(x, signed=signed) for x in values)
            return cell(shown, " ".join(f"{x:.6g}" for x in values))

        self.add("values", make, "by_seed")


def bounds(estimate: Estimate) -> tuple[float, float]:
    """Return the ends of an interval."""
    return estimate.low, estimate.high


# --- as HTML --------------------------------------------------------------------------------------


def table_html(table: Table) -> str:
    """Return a table whose first column heads the rows."""
    heads = "".join(f'<th scope="col"{_kind(c)}>{escape(c.heading)}</th>' for c in table.columns)
    rows = "".join(_row_html(table, index) for index in range(len(table.rows)))
    return (
        f'<table class="figures"><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def scrolling_html(table: Table, name: str = "") -> str:
    """Return a table that scrolls where it is too wide for the page.

    What scrolls takes the keyboard focus, and then needs a name: the table's title by default.
    """
    name = escape(name or table.title)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{name}">'
        f"{table_html(table)}</div>"
    )


def _row_html(table: Table, index: int) -> str:
    head, *others = (
        f"{_kind(column)}{_raw(column, one)}>{escape(one.shown)}"
        for column, one in zip(table.columns, table.rows[index], strict=True)
    )
    style = ' class="total"' if index in table.emphasised else ""
    cells = "".join(f"<td{other}</td>" for other in others)
    return f'<tr{style}><th scope="row"{head}</th>{cells}</tr>'


def _kind(column: Column) -> str:
    # Texts may run from right to left; numbers never do.
    return "" if column.is_number else ' class="text" dir="auto"'


def _raw(column: Column, one: Cell) -> str:
    """Return the raw values, for the page's script to export."""
    if not column.is_number:
        return ""
    values = " ".join("" if value is None else f"{value}" for value in one.values)
    return f' data-value="{escape(values)}"'


# --- as Markdown ----------------------------------------------------------------------------------


def table_markdown(table: Table) -> str:
    """Return a pipe table."""
    lines = [
        _markdown_row([column.heading for column in table.columns]),
        "| " + " | ".join("---:" if column.is_number else "---" for column in table.columns) + " |",
        *(_markdown_row([one.shown for one in row]) for row in table.rows),
    ]
    return "\n".join(lines)


def _markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(markdown_text(text) for text in texts) + " |"


# --- as CSV ---------------------------------------------------------------------------------------


def table_csv(table: Table) -> str:
    """Return raw values, fractions as fractions; a missing value is an empty field."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([key for column in table.columns for key in column.keys])
    writer.writerows([value for one in row for value in one.values] for row in table.rows)
    return file.getvalue()
