"""Text-based tables: .csv, .tsv, .jsonl and pairs of files, read row by row."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self

from greffe.data.columns import (
    OnBadRow,
    Row,
    Table,
    check_headerless,
    is_header,
    list_columns,
    refuse,
)
from greffe.data.csv_records import csv_records, find_delimiter
from greffe.data.files import Line, check_cells, whole_lines
from greffe.errors import DataError
from greffe.parsing import ParseError, parse_json

_REVIEWS, _LABELS = ".review.spm", ".label"
_SAMPLED_ROWS, _SAMPLED_CHARACTERS = 1000, 1 << 20
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class DelimitedTable(Table):
    """A .csv file according to RFC 4180, or a .tsv file split at tabs."""

    encoding: str
    delimiter: str

    @classmethod
    def open(
        cls,
        source: str,
        encoding: str,
        kind: str,
        given: Sequence[str | None],
        on_bad: OnBadRow = refuse,
    ) -> DelimitedTable:
        """Read the first row, which must be good; `given` are the column names from the user."""
        delimiter = "\t" if kind == "tsv" else find_delimiter(source, encoding, given)
        first = next(_filled(_records(source, encoding, delimiter, refuse)), None)
        if first is None:
            raise no_rows(source)
        headed = is_header(first, given)
        if not headed:
            others = islice(_filled(_records(source, encoding, delimiter, on_bad)), 1, None)
            check_headerless(source, first, _sample(others))
        return cls(source, tuple(first), headed, encoding, delimiter)

    def rows(self, indices: Sequence[int], on_bad: OnBadRow = refuse) -> Iterator[Row]:
        """Yield the rows without the header; all must have as many cells as the first."""
        header = self.headed
        for number, cells in _records(self.source, self.encoding, self.delimiter, on_bad):
            if not cells:
                if not header:
                    yield number, None
            elif len(cells) != len(self.columns):
                on_bad(
                    DataError(
                        f"{self.location(number)} does not have as many cells as the first row.",
                        expected=f"{len(self.columns)} cells",
                        found=f"{len(cells)} cells",
                        hint="quote cells that contain the separator (.csv), "
                        "or remove the extra tab (.tsv)",
                    )
                )
            elif header:
                header = False
            else:
                yield number, [cells[index] for index in indices]


@dataclass(frozen=True)
class JsonTable(Table):
    """One JSON object per line, or one JSON string per line (a table with a single column)."""

    encoding: str

    @classmethod
    def open(cls, source: str, encoding: str, on_bad: OnBadRow = refuse) -> Self:
        """Read the column names from the first object."""
        for _, record in _json_records(source, encoding, on_bad):
            if isinstance(record, dict):
                return cls(source, tuple(record), True, encoding)
            if record is not None:
                return cls(source, (record,), False, encoding)
        raise no_rows(source)

    def rows(self, indices: Sequence[int], on_bad: OnBadRow = refuse) -> Iterator[Row]:
        """Yield the rows; a bare string is a row with only a text."""
        names = [self.columns[index] for index in indices] if self.headed else ["text"]
        for number, record in _json_records(self.source, self.encoding, on_bad):
            if record is None:
                yield number, None
                continue
            bare = isinstance(record, str)
            fields = {names[0]: record} if isinstance(record, str) else record
            if missing := [name for name in names if name not in fields]:
                on_bad(
                    DataError(
                        f"{self.location(number)} has no {', no '.join(map(repr, missing))}.",
                        expected=f"an object with {', '.join(names)}",
                        found="only a string" if bare else list_columns([*fields]) or "no fields",
                    )
                )
            else:
                yield number, [fields[name] for name in names]


@dataclass(frozen=True)
class PairTable(Table):
    """Reviews as SentencePiece pieces and a file of labels: `x.review.spm` and `x.label`."""

    encoding: str

    @classmethod
    def find(cls, source: str, encoding: str) -> PairTable | None:
        """Return the pair for either of its paths or their common stem, or None."""
        stem = source.removesuffix(_REVIEWS).removesuffix(_LABELS)
        if stem != source or (not os.path.exists(stem) and os.path.exists(stem + _REVIEWS)):
            return cls(stem, ("text", "label"), True, encoding)
        return None

    def rows(self, indices: Sequence[int], on_bad: OnBadRow = refuse) -> Iterator[Row]:
        """Yield the rows; the file of labels is read only if requested."""
        both = (self.source + _REVIEWS, self.source + _LABELS)
        paths = [both[index] for index in indices]
        counts = [sum(1 for _ in whole_lines(path, self.encoding)) for path in paths]
        if len(set(counts)) > 1:
            raise DataError(
                f"{both[0]} and {both[1]} have different numbers of lines.",
                expected="one label per review, on the same line",
                found=f"{counts[0]} reviews and {counts[1]} labels",
            )
        for lines in zip(*(whole_lines(path, self.encoding) for path in paths), strict=True):
            cells: list[object] = [
                join_pieces(line.text) if index == 0 else line.text
                for index, line in zip(indices, lines, strict=True)
            ]
            yield lines[0].number, cells


def join_pieces(line: str) -> str:
    """Return the text of a line of SentencePiece pieces."""
    return line.replace(" ", "").replace("▁", " ").strip()


def no_rows(source: str) -> DataError:
    """Return the error for a table without rows."""
    return DataError(f"{source} has no rows.", expected="a table", found="only blank lines")


def _records(
    source: str, encoding: str, delimiter: str, on_bad: OnBadRow
) -> Iterator[tuple[int, list[str]]]:
    """Yield each record's first line number and its cells, which are empty for a blank line."""
    if delimiter != "\t":
        yield from csv_records(source, encoding, delimiter, on_bad)
        return
    for line in whole_lines(source, encoding, keep_bad=True):
        if line.error is not None:
            on_bad(line.error)
            continue
        check_cells(source, line.number, line.text.count("\t"))
        cells = [_unquote(cell) for cell in line.text.split("\t")]
        yield line.number, cells if line.text else []


def _filled(records: Iterator[tuple[int, list[str]]]) -> Iterator[list[str]]:
    """Yield the cells of the records without those of blank lines."""
    return (cells for _, cells in records if cells)


def _sample(records: Iterator[list[str]]) -> list[list[str]]:
    """Return the next rows, enough to see what the columns hold."""
    rows: list[list[str]] = []
    size = 0
    while size < _SAMPLED_CHARACTERS and len(rows) < _SAMPLED_ROWS and (row := next(records, None)):
        rows.append(row)
        size += sum(map(len, row))
    return rows


def _unquote(cell: str) -> str:
    """Remove quotes only if the whole cell is quoted as in .csv; other quotes are text."""
    if len(cell) >= 2 and cell[0] == cell[-1] == '"':
        inner = cell[1:-1]
        if '"' not in inner.replace('""', ""):
            return inner.replace('""', '"')
    return cell


def _json_records(
    source: str, encoding: str, on_bad: OnBadRow
) -> Iterator[tuple[int, dict[str, object] | str | None]]:
    for line in whole_lines(source, encoding, keep_bad=True):
        try:
            record = _json_record(line, source)
        except DataError as error:
            on_bad(error)
        else:
            yield line.number, record


def _json_record(line: Line, source: str) -> dict[str, object] | str | None:
    """Return the object or string on a line; None for a blank line."""
    if line.error is not None:
        raise line.error
    if not line.text or line.text.isspace():
        return None
    try:
        record = parse_json(line.text, nan_is_null=True)
        if "\\u" in line.text and _SURROGATE.search(line.text):
            json.dumps(record, ensure_ascii=False).encode("utf-8")
    except ParseError as error:
        raise DataError(
            f"Line {line.number} of {source} is not JSON that greffe can read.",
            expected='one JSON object per line: {"text": "...", "label": "..."}',
            found=f"{error}",
            hint="a JSON value that spans several lines is not .jsonl",
        ) from None
    except UnicodeEncodeError:
        raise DataError(
            f"Line {line.number} of {source} contains a lone surrogate.",
            expected="\\uD800 to \\uDFFF in pairs",
            found="an escape without its other half",
            hint="write the line again from its source text",
        ) from None
    if not isinstance(record, (dict, str)):
        raise DataError(
            f"Line {line.number} of {source} is neither a JSON object nor a JSON string.",
            expected='{"text": "..."} or "..."',
            found=f"{line.text[:40]}",
        )
    return record
