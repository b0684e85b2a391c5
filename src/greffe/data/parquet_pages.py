"""How many rows of a .parquet file can be read at once in bounded memory.

A few bytes can hold thousands of long values: a dictionary page stores a value once for all rows,
and pages are compressed. Sizes in the footer are only claims. So this reads the header of every
page, which the decompressor relies on too; the values are left to pyarrow. Where the pages are is
read from the footer here, because pyarrow ends the process when it is asked for that in some
damaged files. The numbers below are the field ids of the Parquet format.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

MOST_ROWS = 256  # more are not faster
MOST_BYTES = 1 << 28  # of the rows that are read at once
LARGEST_PAGE = 1 << 27  # bytes; most writers make pages of 1 MiB, some of 100 MB
LARGEST_FOOTER = 1 << 24  # bytes; in memory, a footer takes many times its size
_DELTA_BYTE_ARRAY = 7  # an encoding that stores the beginning that a value shares with the last one

# Types of values in Thrift's compact protocol, in which headers are written.
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 12
_INTEGERS = (4, 5, 6)
_DEEPEST = 16  # structs and lists in each other; the format needs about ten


class PageError(ValueError):
    """Footer or pages are damaged, or larger than any text."""


@dataclass(frozen=True)
class Chunk:
    """Where the pages of one column in one row group are."""

    start: int
    end: int
    values: int


@dataclass(frozen=True)
class _Page:
    size: int  # bytes, decompressed
    values: int  # of rows
    repeats: bool  # each row may take as many bytes as the whole page


def read_footer(file: BinaryIO) -> list[list[Chunk]]:
    """Return the chunks of all columns, for each row group."""
    end = file.seek(0, os.SEEK_END) - 8  # the footer's size and PAR1
    file.seek(max(0, end))
    size = int.from_bytes(file.read(4), "little")
    if not 0 < size <= min(LARGEST_FOOTER, end):
        raise PageError(f"a footer of {size:,} bytes; at most {LARGEST_FOOTER >> 20} MiB are read")
    file.seek(end - size)
    metadata = _read_struct(io.BytesIO(file.read(size)))
    try:
        return [[_chunk(column[3]) for column in group[1]] for group in metadata[4]]
    except (LookupError, TypeError):
        raise PageError("a footer without row groups or offsets") from None


def _chunk(column: Any) -> Chunk:
    start = _integer(column, 9)
    if 11 in column and 0 < _integer(column, 11) < start:  # of the dictionary
        start = _integer(column, 11)
    return Chunk(start, start + _integer(column, 7), _integer(column, 5))


def rows_at_once(file: BinaryIO, group: Sequence[Chunk], columns: Mapping[int, int]) -> int:
    """Return how many rows of a row group take at most about MOST_BYTES.

    `columns` are the indices of the columns that are read, with the size of a value in bytes if all
    have the same.
    """
    rows = MOST_ROWS
    for column, width in columns.items():
        if column >= len(group) or width > LARGEST_PAGE:
            raise PageError("columns that the footer and the schema describe differently")
        longest, fewest, last = max(1, width), rows, rows
        for page in _pages(file, group[column]):
            if page.repeats:
                longest = max(longest, page.size)
            else:
                # No more rows than any page but the last has are in three pages at most.
                fewest, last = min(fewest, last), page.values
        rows = min(fewest, MOST_BYTES // longest)
    return max(1, rows)


def _pages(file: BinaryIO, chunk: Chunk) -> Iterator[_Page]:
    position, values = chunk.start, chunk.values
    while position < chunk.end and values > 0:
        file.seek(max(0, position))
        header = _read_struct(file)
        try:
            page, packed = _page(header), _integer(header, 3)
        except (LookupError, TypeError):
            raise PageError("a page header without sizes") from None
        if not 0 <= page.size <= LARGEST_PAGE or packed < 0:
            raise PageError(
                f"a page of {page.size:,} bytes; at most {LARGEST_PAGE >> 20} MiB are read"
            )
        position = file.tell() + packed
        values -= page.values
        yield page


def _page(header: Any) -> _Page:
    size = _integer(header, 2)
    if 5 in header:  # data page, version 1
        values, encoding = _integer(header[5], 1), _integer(header[5], 2)
    elif 8 in header:  # data page, version 2
        values, encoding = _integer(header[8], 1), _integer(header[8], 4)
    else:  # dictionary
        return _Page(size, 0, repeats=True)
    return _Page(size, values, repeats=encoding == _DELTA_BYTE_ARRAY)


def _integer(fields: Any, field: int) -> int:
    value = fields[field]
    if not isinstance(value, int):
        raise TypeError
    return value


# --- Thrift's compact protocol --------------------------------------------------------------------


def _read_struct(file: BinaryIO, depth: int = 0) -> dict[int, Any]:
    """Return a struct's values by field id: integers, structs and lists of them."""
    fields: dict[int, Any] = {}
    field = 0
    while (head := _read_byte(file)) != _STOP:
        kind, step = head & 0x0F, head >> 4
        field = field + step if step else _read_integer(file)
        if kind not in (_TRUE, _FALSE):  # the type is the value
            fields[field] = _read_value(file, kind, depth + 1)
    return fields


def _read_value(file: BinaryIO, kind: int, depth: int) -> Any:
    """Return an integer, a struct or a list; values of other types are skipped and None."""
    if depth > _DEEPEST:
        raise PageError("a header that is nested too deep")
    if kind in _INTEGERS:
        return _read_integer(file)
    if kind == _STRUCT:
        return _read_struct(file, depth)
    if kind == _LIST:
        head = _read_byte(file)
        kind, short = head & 0x0F, head >> 4
        count = short if short < 15 else _read_varint(file)
        return [_read_value(file, kind, depth + 1) for _ in range(count)]
    if kind == _BINARY:
        _skip(file, _read_varint(file))
    elif kind in (_TRUE, _FALSE, _BYTE):
        _read_byte(file)
    elif kind == _DOUBLE:
        _skip(file, 8)
    else:
        raise PageError("a header with a field of an unknown type")
    return None


def _skip(file: BinaryIO, length: int) -> None:
    if length == 0:
        return
    try:
        file.seek(length - 1, os.SEEK_CUR)
    except (OSError, OverflowError):
        raise PageError("a value that is longer than the file") from None
    _read_byte(file)  # unlike a read, a move beyond the end of the file is no error


def _read_integer(file: BinaryIO) -> int:
    value = _read_varint(file)
    return (value >> 1) ^ -(value & 1)  # signs are stored in the last bit


def _read_varint(file: BinaryIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = _read_byte(file)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
    raise PageError("a number of more than 64 bits")


def _read_byte(file: BinaryIO) -> int:
    data = file.read(1)
    if not data:
        raise PageError("the file ends inside a header")
    return data[0]
