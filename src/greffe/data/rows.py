"""Tables in lines of text: .csv, .tsv, .jsonl and pairs of files, read a row at a time.

Knows nothing of which column means what, beyond telling a header from data.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from greffe.data.columns import Row, Table, is_header
from greffe.data.files import LONGEST_RECORD, Line, too_long, whole_lines
from greffe.errors import DataError

_REVIEWS, _LABELS = ".review.spm", ".label"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class DelimitedTable(Table):
    """Rows of cells: .csv after RFC 4180, .tsv cut at tabs."""

    encoding: str
    delimiter: str

    @classmethod
    def open(
        cls, source: str, encoding: str, kind: str, given: Sequence[str | None]
    ) -> DelimitedTable:
        """Look at the first row; `given` are the column names the user named."""
        delimiter = "\t" if kind == "tsv" else _find_delimiter(source, encoding, given)
        for _, cells in _records(source, encoding, delimiter):
            if cells:
                return cls(source, tuple(cells), is_header(cells, given), encoding, delimiter)
        raise no_rows(source)

    def rows(self, wanted: Sequence[int]) -> Iterator[Row]:
        """Header left out; a row with more or fewer cells than the first is a DataError."""
        header = self.headed
        for number, cells in _records(self.source, self.encoding, self.delimiter):
            if not cells:
                if not header:
                    yield number, None
            elif len(cells) != len(self.columns):
                raise DataError(
                    f"{self.place(number)} has another number of cells than the first row.",
                    expected=f"{len(self.columns)} cells",
                    found=f"{len(cells)} cells",
                    hint="put a cell that contains the separator in quotes (.csv), "
                    "or remove the extra tab (.tsv)",
                )
            elif header:
                header = False
            else:
                yield number, [cells[position] for position in wanted]


@dataclass(frozen=True)
class JsonTable(Table):
    """One JSON object a line, or one JSON string a line (then the table has a single column)."""

    encoding: str

    @classmethod
    def open(cls, source: str, encoding: str) -> Self:
        """Look at the first object for the names of the columns."""
        for _, record in _json_records(source, encoding):
            if isinstance(record, dict):
                return cls(source, tuple(record), True, encoding)
            if record is not None:
                return cls(source, (record,), False, encoding)
        raise no_rows(source)

    def rows(self, wanted: Sequence[int]) -> Iterator[Row]:
        """A bare string is a row with nothing but its text."""
        names = [self.columns[position] for position in wanted] if self.headed else ["text"]
        for number, record in _json_records(self.source, self.encoding):
            if record is None:
                yield number, None
                continue
            bare = isinstance(record, str)
            fields = {names[0]: record} if isinstance(record, str) else record
            if missing := [name for name in names if name not in fields]:
                raise DataError(
                    f"{self.place(number)} has no {', no '.join(map(repr, missing))}.",
                    expected=f"an object with {', '.join(names)}",
                    found="a string alone" if bare else ", ".join(fields) or "an empty object",
                )
            yield number, [fields[name] for name in names]


@dataclass(frozen=True)
class PairTable(Table):
    """Reviews as SentencePiece pieces beside a file of labels: `x.review.spm` and `x.label`."""

    encoding: str

    @classmethod
    def find(cls, source: str, encoding: str) -> PairTable | None:
        """The pair for either of its paths, or for what they share."""
        stem = source.removesuffix(_REVIEWS).removesuffix(_LABELS)
        if stem != source or (not Path(stem).exists() and Path(stem + _REVIEWS).exists()):
            return cls(stem, ("text", "label"), True, encoding)
        return None

    def rows(self, wanted: Sequence[int]) -> Iterator[Row]:
        """The labels are needed only if they are wanted."""
        both = (self.source + _REVIEWS, self.source + _LABELS)
        paths = [both[position] for position in wanted]
        counts = [sum(1 for _ in whole_lines(path, self.encoding)) for path in paths]
        if len(set(counts)) > 1:
            raise DataError(
                f"{both[0]} and {both[1]} do not have the same number of lines.",
                expected="a label for each review, on the same line",
                found=f"{counts[0]} reviews and {counts[1]} labels",
            )
        for lines in zip(*(whole_lines(path, self.encoding) for path in paths), strict=True):
            cells: list[object] = [
                join_pieces(line.text) if position == 0 else line.text
                for position, line in zip(wanted, lines, strict=True)
            ]
            yield lines[0].number, cells


def join_pieces(line: str) -> str:
    """Text of a line of SentencePiece pieces."""
    return line.replace(" ", "").replace("▁", " ").strip()


def no_rows(source: str) -> DataError:
    """What to say of a table without a single row."""
    return DataError(f"{source} holds no rows.", expected="a table", found="nothing but blanks")


def _records(source: str, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Number of a record's first line, and its cells; none for a blank line."""
    if delimiter != "\t":
        yield from _csv_records(source, encoding, delimiter)
        return
    for line in whole_lines(source, encoding):
        cells = [_unquote(cell) for cell in line.text.split("\t")]
        yield line.number, cells if line.text else []


def _unquote(cell: str) -> str:
    """Undo quoting only where the whole cell is quoted in the way of .csv; else quotes are text."""
    if len(cell) >= 2 and cell[0] == cell[-1] == '"':
        inner = cell[1:-1]
        if '"' not in inner.replace('""', ""):
            return inner.replace('""', '"')
    return cell


class _Feed:
    """Lines for csv.reader, with an eye on how many make up one record."""

    def __init__(self, lines: Iterator[Line], source: str) -> None:
        self.lines = lines
        self.source = source
        self.number = 0  # of the last line given
        self.start = 1  # line on which the record begins
        self.size = 0

    def __iter__(self) -> Iterator[str]:
        for line in self.lines:
            self.number = line.number
            self.size += line.size
            if self.size > LONGEST_RECORD:
                raise too_long(self.source, self.start)
            yield f"{line.text}\n"

    def begin(self) -> None:
        self.start = self.number + 1
        self.size = 0


def _csv_records(source: str, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_RECORD))
    feed = _Feed(whole_lines(source, encoding), source)
    reader = csv.reader(feed, delimiter=delimiter, strict=True)
    while True:
        feed.begin()
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(
                f"{source} is not valid .csv: the row that begins on line {feed.start}.",
                expected='a quoted cell ends with a quote, and quotes inside it are doubled: ""',
                found=str(error),
                hint="for label<TAB>text without quoting, name the file .tsv",
            ) from None
        yield feed.start, record


def _find_delimiter(source: str, encoding: str, given: Sequence[str | None]) -> str:
    """A comma; a semicolon where only that makes the first line a header (French spreadsheets)."""
    line = next(whole_lines(source, encoding), None)
    if line is None or len(next(csv.reader([line.text]), [])) != 1:
        return ","
    cells = next(csv.reader([line.text], delimiter=";"))
    named = {name for name in given if name is not None}
    return ";" if len(cells) > 1 and (named & set(cells) or is_header(cells, ())) else ","


def _json_records(
    source: str, encoding: str
) -> Iterator[tuple[int, dict[str, object] | str | None]]:
    for line in whole_lines(source, encoding):
        if not line.text.strip():
            yield line.number, None
            continue
        try:
            record = json.loads(line.text)
            if _SURROGATE.search(line.text):
                json.dumps(record, ensure_ascii=False).encode("utf-8")
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(
                f"Line {line.number} of {source} is not JSON.",
                expected='one JSON object a line: {"text": "...", "label": "..."}',
                found=f"{error}",
                hint="a single JSON value over many lines is not .jsonl: write one object a line",
            ) from None
        except UnicodeEncodeError:
            raise DataError(
                f"Line {line.number} of {source} holds half of a character.",
                expected="\\uD800 to \\uDFFF in pairs",
                found="one of them alone",
                hint="write the line again from its source text",
            ) from None
        if not isinstance(record, (dict, str)):
            raise DataError(
                f"Line {line.number} of {source} is neither a JSON object nor a JSON string.",
                expected='{"text": "..."} or "..."',
                found=f"{line.text[:40]}",
            )
        yield line.number, record
