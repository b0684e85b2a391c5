"""Texts to label, row by row, each with the cells that are passed on to its prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from greffe.config.options import Reading
from greffe.data.columnar import ParquetTable
from greffe.data.columns import (
    OnBadRow,
    Table,
    find_named,
    find_text,
    leave_out,
    notice_duplicates,
    refuse,
    text_of,
)
from greffe.data.files import STANDARD_INPUT, check_encoding, check_file, whole_lines
from greffe.data.rows import PairTable
from greffe.data.tables import LONGEST_TEXT, too_long_to_classify
from greffe.data.text import open_table
from greffe.errors import DataError
from greffe.progress import notice

if TYPE_CHECKING:
    from pyarrow import DataType

_REPORTED = 5  # rows that are left out; all are counted


@dataclass(frozen=True)
class TextRow:
    """A text to label, and the cells of its row that are kept."""

    text: str
    kept: tuple[object, ...] = ()


@dataclass(frozen=True)
class TextRows:
    """The rows of a source, read once and in order."""

    rows: Iterator[TextRow]
    columns: tuple[str, ...] = ()
    """Names of the columns that are kept."""
    types: tuple[DataType, ...] | None = None
    """Their types, if the source is a .parquet file."""


class SkippedRows:
    """Counts the rows that cannot be read, and reports the first of them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: DataError) -> None:
        """Leave out a row."""
        self.count += 1
        if self.count <= _REPORTED:
            notice(f"skipped: {error.message} Found: {error.found}")
        elif self.count == _REPORTED + 1:
            notice("skipped: more rows, which are only counted")

    def describe(self) -> str:
        """Return how many rows were left out."""
        rows = "row" if self.count == 1 else "rows"
        return f"skipped: {self.count:,} {rows} that cannot be read"


def open_text_rows(
    source: str | Path,
    options: Reading,
    *,
    id_column: str | None = None,
    keep: Sequence[str] = (),
    skipped: SkippedRows | None = None,
) -> TextRows:
    """Open a source; its rows are the lines of a text, including empty ones, or those of a table.

    A generator function would find a missing file or column only when the first row is requested.
    The cells of `id_column`, then of the columns to `keep`, come with each text. A row that cannot
    be read is an error, unless it is to be `skipped`.
    """
    source = str(source)
    on_bad: OnBadRow = refuse if skipped is None else skipped
    flags = {} if id_column is None else {id_column: "--id-column"}
    flags |= {name: "--keep" for name in keep if name not in flags}
    table: Table | None = None
    if source != STANDARD_INPUT:
        table = PairTable.find(source, options.encoding) or open_table(
            source, options, named=[*flags], on_bad=refuse if skipped is None else leave_out
        )
    if table is not None:
        text = find_text(table, options.text_column)
        others = [find_named(table, name, flag) for name, flag in flags.items()]
        notice_duplicates(table)
        types = table.column_types(others) if isinstance(table, ParquetTable) else None
        names = tuple(table.columns[index] for index in others)
        return TextRows(_table_rows(table, [text, *others], on_bad), names, types)
    if flags:
        name, flag = next(iter(flags.items()))
        raise DataError(
            f"{'Standard input' if source == STANDARD_INPUT else source} has no columns.",
            expected=".csv, .tsv, .jsonl or .parquet",
            found=f"{flag} {name}",
            hint=f"leave out {flag}, or give a table with --input FILE",
        )
    if source != STANDARD_INPUT:
        check_file(source)
    return TextRows(_line_rows(source, check_encoding(options.encoding), on_bad))


def _table_rows(table: Table, indices: Sequence[int], on_bad: OnBadRow) -> Iterator[TextRow]:
    """Yield the rows of a table; a blank line is an empty text."""
    blank = TextRow("", (None,) * (len(indices) - 1))
    for number, cells in table.rows(indices, on_bad):
        if cells is None:
            yield blank
            continue
        try:
            text = text_of(cells[0], table, number)
            _check_length(text, table.location(number))
        except DataError as error:
            on_bad(error)
        else:
            yield TextRow(text, tuple(cells[1:]))


def _line_rows(source: str, encoding: str, on_bad: OnBadRow) -> Iterator[TextRow]:
    name = "standard input" if source == STANDARD_INPUT else source
    for line in whole_lines(source, encoding, keep_bad=True):
        try:
            if line.error is not None:
                raise line.error
            _check_length(line.text, f"Line {line.number} of {name}")
        except DataError as error:
            on_bad(error)
        else:
            yield TextRow(line.text)


def _check_length(text: str, name: str) -> None:
    if len(text) > LONGEST_TEXT:
        raise too_long_to_classify(text, name)
