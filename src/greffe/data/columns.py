"""Tables as columns: which holds the text, which the label, and what their cells say.

Knows nothing of how a table is stored; `rows.py` and `columnar.py` read the kinds there are.
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
_SHOWN = 12  # columns listed in a message

Row = tuple[int, list[object] | None]  # number of the line or row, wanted cells; None: a blank line


@dataclass(frozen=True)
class Table(ABC):
    """A table that can be read from its start as often as needed, a row at a time."""

    source: str
    columns: tuple[str, ...]  # names in the header, or without one the cells of the first row
    headed: bool

    unit: ClassVar[str] = "Line"  # what row numbers count

    @abstractmethod
    def rows(self, wanted: Sequence[int]) -> Iterator[Row]:
        """The cells of the wanted columns, row after row."""

    def place(self, number: int) -> str:
        """How a message names a row."""
        return f"{self.unit} {number} of {self.source}"


def is_header(cells: Sequence[str], given: Sequence[str | None]) -> bool:
    """Whether a first row names columns: the user named one, or a cell is a known name."""
    known = {*TEXT_NAMES, *LABEL_NAMES}
    return any(given) or any(_plain(cell) in known for cell in cells)


def find_text(table: Table, name: str | None) -> int:
    """Position of the text: by name; without a header the only column, or the second of two."""
    if not table.headed and len(table.columns) <= 2:
        return len(table.columns) - 1
    return _find(table, "text", name, TEXT_NAMES, taken=None)


def find_label(table: Table, name: str | None, *, text: int) -> int:
    """Position of the label: by name; without a header the first of two columns."""
    if not table.headed and len(table.columns) == 2:
        return 0
    return _find(table, "label", name, LABEL_NAMES, taken=text)


def text_of(value: object, table: Table, number: int) -> str:
    """A cell of the text column as text; a missing one is the empty text."""
    return "" if _missing(value) else _as_text(value, "text", table, number)


def label_of(value: object, table: Table, number: int) -> str:
    """A cell of the label column as text; a missing one is a DataError."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # whole numbers become floats as soon as a column misses one
    label = "" if _missing(value) else _as_text(value, "label", table, number).strip()
    if not label:
        raise DataError(
            f"{table.place(number)} has no label.",
            expected="a label in every row",
            found="an empty cell",
            hint="label the row or remove it; texts without labels are for pretrain and predict",
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
    listed = ", ".join(_shorten(column) for column in table.columns[:_SHOWN])
    more = f" and {len(table.columns) - _SHOWN} more" if len(table.columns) > _SHOWN else ""
    noun = "column" if len(table.columns) == 1 else "columns"
    place = "the header" if table.headed else "the first row, taken for data"
    raise DataError(
        f"{table.source} has no column {name!r}."
        if name is not None
        else f"{table.source} has no {what} column that can be recognised.",
        expected=f"a column named {name}"
        if name is not None
        else f"a column named {', '.join(known)}; or no header and two columns, label and text",
        found=f"{len(table.columns)} {noun} in {place}: {listed}{more}",
        hint=f"name it with --{what}-column",
    )


def _as_text(value: object, what: str, table: Table, number: int) -> str:
    if isinstance(value, bytes):  # parquet written without the string type
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{table.place(number)}: the {what} is not UTF-8.",
                expected="text in UTF-8",
                found=f"the byte 0x{value[error.start]:02X} at byte offset {error.start}",
            ) from None
    if isinstance(value, (list, dict)):
        kind = "list" if isinstance(value, list) else "group of fields"
        raise DataError(
            f"{table.place(number)}: the {what} is a {kind}.",
            expected=f"one {what} a row",
            found=_shorten(str(value)),
            hint=f"name another column with --{what}-column",
        )
    return str(value)


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip().casefold()


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
