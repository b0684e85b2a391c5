"""Find the text and label columns of a table and convert their cells.

The file formats are in `rows.py` and `columnar.py`.
"""

from __future__ import annotations

import math
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from greffe.errors import DataError

TEXT_NAMES = (
    *("text", "review", "sentence", "content", "document", "body", "comment"),
    *("texte", "avis", "phrase", "contenu", "commentaire"),
)
LABEL_NAMES = (
    *("label", "class", "sentiment", "target", "category", "rating", "stars", "polarity"),
    *("étiquette", "etiquette", "classe", "note"),
)
_MOST_LISTED = 12  # columns in a message

Row = tuple[int, list[object] | None]  # line or row number, requested cells; None: a blank line


@dataclass(frozen=True)
class Table(ABC):
    """A table that is read row by row and can be read several times."""

    source: str
    columns: tuple[str, ...]  # names in the header or, without a header, cells of the first row
    headed: bool

    unit: ClassVar[str] = "Line"  # what row numbers count

    @abstractmethod
    def rows(self, indices: Sequence[int]) -> Iterator[Row]:
        """Yield the cells of the requested columns, row by row."""

    def location(self, number: int) -> str:
        """Return the name of a row for messages."""
        return f"{self.unit} {number} of {self.source}"


def is_header(cells: Sequence[str], given: Sequence[str | None]) -> bool:
    """Return whether a first row is a header: a column was specified, or a cell is a known name."""
    known = {*TEXT_NAMES, *LABEL_NAMES}
    return any(given) or any(_plain(cell) in known for cell in cells)


def find_text(table: Table, name: str | None) -> int:
    """Return the index of the text column; without a header, the last of one or two columns."""
    if not table.headed and len(table.columns) <= 2:
        return len(table.columns) - 1
    return _find(table, "text", name, TEXT_NAMES, taken=None)


def find_label(table: Table, name: str | None, *, text: int) -> int:
    """Return the index of the label column; without a header, the first of two columns."""
    if not table.headed and len(table.columns) == 2:
        return 0
    return _find(table, "label", name, LABEL_NAMES, taken=text)


def text_of(value: object, table: Table, number: int) -> str:
    """Return a text cell as a string; a missing value is the empty string."""
    return "" if _missing(value) else _as_text(value, "text", table, number)


def label_of(value: object, table: Table, number: int) -> str:
    """Return a label cell as a string; a missing value is a DataError."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # integers are stored as floats in columns with missing values
    label = "" if _missing(value) else _as_text(value, "label", table, number).strip()
    if not label:
        raise DataError(
            f"{table.location(number)} has no label.",
            expected="a label in every row",
            found="an empty cell",
            hint="label the row or remove it; pretrain and predict accept texts without labels",
        )
    return label


def _find(
    table: Table, what: str, name: str | None, known: Sequence[str], *, taken: int | None
) -> int:
    plain = [_plain(column) for column in table.columns]
    if name is not None:
        if name in table.columns:
            return table.columns.index(name)
        names: Sequence[str] = (_plain(name),)
    else:
        names = known
    for candidate in names:
        if candidate in plain and (position := plain.index(candidate)) != taken:
            return position
    listed = ", ".join(_shorten(column) for column in table.columns[:_MOST_LISTED])
    rest = len(table.columns) - _MOST_LISTED
    more = f" and {rest} more" if rest > 0 else ""
    noun = "column" if len(table.columns) == 1 else "columns"
    where = "the header" if table.headed else "the first row, which is not a header"
    raise DataError(
        f"{table.source} has no column {name!r}."
        if name is not None
        else f"{table.source} has no recognizable {what} column.",
        expected=f"a column named {name}"
        if name is not None
        else f"a column named {', '.join(known)}; or no header and two columns, label and text",
        found=f"{len(table.columns)} {noun} in {where}: {listed}{more}",
        hint=f"specify it with --{what}-column",
    )


def _as_text(value: object, what: str, table: Table, number: int) -> str:
    if isinstance(value, bytes):  # .parquet written without the string type
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{table.location(number)}: the {what} is not UTF-8.",
                expected="text in UTF-8",
                found=f"the byte 0x{value[error.start]:02X} at byte offset {error.start}",
            ) from None
    if isinstance(value, (list, dict)):
        kind = "list" if isinstance(value, list) else "struct"
        raise DataError(
            f"{table.location(number)}: the {what} is a {kind}.",
            expected=f"one {what} per row",
            found=_shorten(str(value)),
            hint=f"specify another column with --{what}-column",
        )
    return str(value)


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip().casefold()


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
