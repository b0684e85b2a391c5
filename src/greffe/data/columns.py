"""Find the text and label columns of a table and convert their cells.

The file formats are in `rows.py` and `columnar.py`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from greffe.errors import DataError
from greffe.progress import notice_once

TEXT_NAMES = (
    *("text", "review", "sentence", "content", "document", "body", "comment"),
    *("texte", "avis", "phrase", "contenu", "commentaire"),
)
LABEL_NAMES = (
    *("label", "class", "sentiment", "target", "category", "rating", "stars", "polarity"),
    *("étiquette", "etiquette", "classe", "note"),
)
_MOST_LISTED = 12  # columns in a message
_LIKE_A_NAME = re.compile(r"[^\W\d][\w.-]*( [\w.-]+){0,2}")  # at most three words, no digit first
_LONGEST_NAME = 30  # characters of what may be a column's name
_SENTENCE = 3  # words: labels are shorter
_EXACT = 2**53  # floats below it represent all integers

Row = tuple[int, list[object] | None]  # line or row number, requested cells; None: a blank line
OnBadRow = Callable[[DataError], None]
"""What is done about a row that cannot be read; if it returns, the row is left out."""


def refuse(error: DataError) -> None:
    """Stop at a row that cannot be read."""
    raise error from None


def leave_out(error: DataError) -> None:
    """Read on without a row that cannot be read."""


@dataclass(frozen=True)
class Table(ABC):
    """A table that is read row by row and can be read several times."""

    source: str
    columns: tuple[str, ...]  # names in the header or, without a header, cells of the first row
    headed: bool

    unit: ClassVar[str] = "Line"  # what row numbers count

    @abstractmethod
    def rows(self, indices: Sequence[int], on_bad: OnBadRow = refuse) -> Iterator[Row]:
        """Yield the cells of the requested columns, row by row.

        Not every format can read on after a row that it cannot read.
        """

    def location(self, number: int) -> str:
        """Return the name of a row for messages."""
        return f"{self.unit} {number} of {self.source}"


def is_header(cells: Sequence[str], given: Sequence[str | None]) -> bool:
    """Return whether a first row is a header: a column was specified, or a cell is a known name."""
    known = {*TEXT_NAMES, *LABEL_NAMES}
    return any(given) or any(_plain(cell) in known for cell in cells)


def check_headerless(source: str, first: Sequence[str], others: Sequence[Sequence[str]]) -> None:
    """Raise DataError if a table without known names could be read wrongly; `others` is a sample.

    Its first row may be a header, and the text may come before the label. In a single column, this
    is a notice only: at worst one short text too many is read.
    """
    if len(first) == 1:
        word = first[0].strip()
        if _may_be_header(first, others) and " " not in word:
            notice_once(
                f"{source}: the first row is read as a text: {word!r}. "
                f"If it is the column's name, use --text-column {word}"
            )
    elif len(first) == 2:
        rows = [row for row in others if len(row) == 2]
        if _may_be_header(first, rows):
            raise DataError(
                f"The first row of {source} may be a header or a text with its label.",
                expected=f"a header with known names ({', '.join(TEXT_NAMES[:3])}, …; "
                f"{', '.join(LABEL_NAMES[:3])}, …), or no header and two columns, label and text",
                found=list_columns(first),
                hint="if it is a header: --text-column NAME and, for labels, --label-column NAME; "
                "if not, add the header label, text",
            )
        if _is_swapped([first, *rows]):
            raise DataError(
                f"{source} has no header, and its first column seems to hold the texts.",
                expected="without a header: the label first, then the text",
                found=list_columns(first),
                hint="add a header that names the columns: text, label",
            )


def find_text(table: Table, name: str | None) -> int:
    """Return the index of the text column; without a header, the last of one or two columns."""
    if not table.headed and len(table.columns) <= 2:
        return len(table.columns) - 1
    return _find(table, "text", name, TEXT_NAMES, "--text-column", taken=None)


def find_label(table: Table, name: str | None, *, text: int) -> int:
    """Return the index of the label column; without a header, the first of two columns."""
    if not table.headed and len(table.columns) == 2:
        return 0
    position = _find(table, "label", name, LABEL_NAMES, "--label-column", taken=text)
    if position == text:
        raise DataError(
            f"The column {table.columns[text]!r} of {table.source} cannot be text and label.",
            expected="two columns",
            found="the same column twice",
            hint="--text-column NAME --label-column ANOTHER",
        )
    return position


def find_named(table: Table, name: str, flag: str) -> int:
    """Return the index of the column that a flag names."""
    if not table.headed:
        raise DataError(
            f"{table.source} has no names of columns.",
            expected=f"a header or, in .jsonl, objects with {name!r}",
            found=f"{flag} {name}",
            hint=f"leave out {flag}",
        )
    return _find(table, name, name, (), flag, taken=None)


def notice_duplicates(table: Table) -> None:
    """Print a notice about names that several columns have; none of them is read."""
    counts = Counter(column for column in table.columns if column.strip())
    repeated = [name for name, count in counts.items() if count > 1]
    if table.headed and repeated:
        notice_once(f"{table.source}: several columns have the same name: {list_columns(repeated)}")


def list_columns(names: Sequence[str]) -> str:
    """Return names of columns for a message: the first ones, shortened."""
    listed = ", ".join(map(_shorten, names[:_MOST_LISTED]))
    rest = len(names) - _MOST_LISTED
    return f"{listed} and {rest} more" if rest > 0 else listed


def text_of(value: object, table: Table, number: int) -> str:
    """Return a text cell as a string; a missing value is the empty string."""
    return "" if _missing(value) else _as_text(value, "text", table, number)


def label_of(value: object, table: Table, number: int) -> str:
    """Return a label cell as a string; a missing value is a DataError."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
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


def _may_be_header(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Return whether the cells of the first row, and of no other kind of row, look like names."""
    if not like_names(first) or any(row[0] == first[0] for row in others):
        return False  # a name does not occur again in its column, but a label does
    return not others or not all(map(like_names, others))


def like_names(cells: Sequence[str]) -> bool:
    """Return whether all cells could be names of columns: a few words without punctuation."""
    return all(
        len(cell) <= _LONGEST_NAME and _LIKE_A_NAME.fullmatch(cell.strip()) for cell in cells
    )


def _is_swapped(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of two columns holds sentences, and the second something shorter."""
    first, second = zip(*rows, strict=True)
    words = [sum(len(cell.split()) for cell in column) / len(rows) for column in (first, second)]
    return words[0] >= _SENTENCE > words[1] and len(set(first)) >= len(set(second))


def _find(
    table: Table,
    what: str,
    name: str | None,
    known: Sequence[str],
    flag: str,
    *,
    taken: int | None,
) -> int:
    if name is not None and name in table.columns:
        return _only(table, [i for i, column in enumerate(table.columns) if column == name])
    plain = [_plain(column) for column in table.columns]
    for candidate in known if name is None else (_plain(name),):
        positions = [i for i, column in enumerate(plain) if column == candidate and i != taken]
        if positions:
            return _only(table, positions)
    noun = "column" if len(table.columns) == 1 else "columns"
    where = "the header" if table.headed else "the first row, which is not a header"
    raise DataError(
        f"{table.source} has no column {name!r}."
        if name is not None
        else f"{table.source} has no recognizable {what} column.",
        expected=f"a column named {name}"
        if name is not None
        else f"a column named {', '.join(known)}; or no header and two columns, label and text",
        found=f"{len(table.columns)} {noun} in {where}: {list_columns(table.columns)}",
        hint=f"specify it with {flag} NAME",
    )


def _only(table: Table, positions: Sequence[int]) -> int:
    """Return the position, or raise DataError if there are several."""
    if len(positions) > 1:
        raise DataError(
            f"{table.source} has {len(positions)} columns "
            f"named {_shorten(table.columns[positions[0]])!r}.",
            expected="one column of that name",
            found=f"columns {' and '.join(str(position + 1) for position in positions)}",
            hint="rename all but one of them",
        )
    return positions[0]


def _as_text(value: object, what: str, table: Table, number: int) -> str:
    if isinstance(value, str):
        return value
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
    if isinstance(value, float) and math.isinf(value):
        raise DataError(
            f"{table.location(number)}: the {what} is an infinite number.",
            expected="text or a finite number",
            found=str(value),
        )
    return str(value)


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip().casefold()


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
