"""Tables of a report: defined once, written as HTML, Markdown and CSV.

A cell holds what is shown and the raw values behind it; CSV gets the raw ones under stable English
names, so that a program reads the same file whatever the page's language. Knows no study.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

Raw = str | int | float | bool | None

MARKDOWN_SIGNS = re.compile(r"([\\`*_\[\]<>|#~])")


@dataclass(frozen=True)
class Column:
    """A heading, and the name of each raw value below it."""

    heading: str
    keys: tuple[str, ...]
    is_number: bool = True


@dataclass(frozen=True)
class Cell:
    """What is shown, and the raw values: as many as the column has names."""

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


def text_column(heading: str, key: str) -> Column:
    """A column of words."""
    return Column(heading, (key,), is_number=False)


def number_column(heading: str, *keys: str) -> Column:
    """A column of figures."""
    return Column(heading, keys)


def cell(shown: str, *values: Raw) -> Cell:
    """A cell; its raw value is what it shows unless others are given."""
    return Cell(shown, values or (shown,))


# --- as HTML --------------------------------------------------------------------------------------


def table_html(table: Table) -> str:
    """A table whose first column heads the rows."""
    heads = "".join(f'<th scope="col"{_kind(c)}>{escape(c.heading)}</th>' for c in table.columns)
    rows = "".join(_row_html(table, index) for index in range(len(table.rows)))
    return (
        f'<table class="figures"><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def scrolling_html(table: Table) -> str:
    """A table that scrolls by itself where it is too wide for the page."""
    title = escape(table.title)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{title}">'
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
    # Words may run from right to left; figures never do.
    return "" if column.is_number else ' class="text" dir="auto"'


def _raw(column: Column, one: Cell) -> str:
    """What the page's script exports instead of the figure as it is shown."""
    if not column.is_number:
        return ""
    values = " ".join("" if value is None else f"{value}" for value in one.values)
    return f' data-value="{escape(values)}"'


# --- as Markdown ----------------------------------------------------------------------------------


def table_markdown(table: Table) -> str:
    """A pipe table."""
    lines = [
        _markdown_row([column.heading for column in table.columns]),
        "| " + " | ".join("---:" if column.is_number else "---" for column in table.columns) + " |",
        *(_markdown_row([one.shown for one in row]) for row in table.rows),
    ]
    return "\n".join(lines)


def _markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(markdown_text(text) for text in texts) + " |"


def markdown_text(text: str) -> str:
    """Text on one line that Markdown shows as it is."""
    line = re.sub(r"[ \t\r\n]+", " ", text)  # no-break spaces stay
    return MARKDOWN_SIGNS.sub(r"\\\1", line.replace("&", "&amp;"))


# --- as CSV ---------------------------------------------------------------------------------------


def table_csv(table: Table) -> str:
    """Raw values, fractions as fractions; an empty field where there is none."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([key for column in table.columns for key in column.keys])
    writer.writerows([value for one in row for value in one.values] for row in table.rows)
    return file.getvalue()
