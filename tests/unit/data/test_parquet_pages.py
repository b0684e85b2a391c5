"""How many rows are read at once, and what is refused before pyarrow sees it."""

from __future__ import annotations

import io
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from greffe.data import parquet_pages
from greffe.data.parquet_pages import MOST_ROWS, PageError, read_footer, rows_at_once

LONG = "mot " * (1 << 21)  # 8 MiB
TEXTS = [f"texte {number} " * 9 for number in range(5000)]


def file_of(texts: list[str], **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    table = pyarrow.table({"label": [1] * len(texts), "text": texts})
    pyarrow.parquet.write_table(table, file, **options)
    return file


def rows(file: io.BytesIO, column: int = 1, width: int = 0) -> list[int]:
    return [rows_at_once(file, group, {column: width}) for group in read_footer(file)]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_ordinary_tables_are_read_in_full_batches(
    version: str, compression: str, dictionary: bool
) -> None:
    options = {"data_page_version": version, "compression": compression}
    file = file_of(TEXTS, use_dictionary=dictionary, row_group_size=2000, **options)
    assert rows(file) == rows(file, column=0) == [MOST_ROWS] * 3


@pytest.mark.parametrize(
    "options",
    [
        {"use_dictionary": True},
        {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
    ],
)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_value_that_is_stored_once_counts_in_every_row(
    options: dict[str, Any], version: str
) -> None:
    file = file_of([LONG] * 3, compression="zstd", data_page_version=version, **options)
    assert 20 <= rows(file)[0] <= 32, "256 MiB in all"
    assert rows(file, column=0) == [MOST_ROWS]


def test_pages_of_few_long_values_are_read_one_by_one() -> None:
    long = file_of([LONG] * 20, compression="zstd", use_dictionary=False, write_batch_size=1)
    assert rows(long) == [1]
    last = file_of([*TEXTS, LONG], use_dictionary=False, write_batch_size=1000)
    assert rows(last) == [MOST_ROWS], "a last page may be short"


def test_values_of_one_size_count_even_where_they_are_missing() -> None:
    file = file_of(["a", "b"])
    assert rows(file, width=1 << 26) == [4]
    with pytest.raises(PageError, match="differently"):
        rows(file, width=1 << 30)
    with pytest.raises(PageError, match="differently"):
        rows(file, column=2)


def test_large_pages_and_footers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_of(TEXTS)
    monkeypatch.setattr(parquet_pages, "LARGEST_PAGE", 1 << 10)
    with pytest.raises(PageError, match=r"a page of [\d,]{5,} bytes"):
        rows(file)
    monkeypatch.setattr(parquet_pages, "LARGEST_FOOTER", 1 << 8)
    with pytest.raises(PageError, match="a footer of"):
        read_footer(file)


@pytest.mark.parametrize(
    ("footer", "found"),
    [
        (b"", "a footer of 0 bytes"),
        (b"\x00", "without row groups"),
        (b"\x15", "ends inside"),
        (b"\x4c" + b"\x1c" * 50, "nested too deep"),
        (b"\x49" + b"\x19" * 50, "nested too deep"),
        (b"\x49\xf1" + b"\xff" * 8 + b"\x01", "ends inside"),  # a list of 2^63 truth values
        (b"\x18" + b"\xff" * 9 + b"\x01", "longer than the file"),
        (b"\x15" + b"\xff" * 20, "more than 64 bits"),
        (b"\x1d", "unknown type"),
        (b"\x48\x01a\x00", "without row groups"),
        (b"\x49\x15\x02\x00", "without row groups"),
    ],
)
def test_damaged_footers_end_in_one_kind_of_error(footer: bytes, found: str) -> None:
    data = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(PageError, match=found):
        read_footer(io.BytesIO(data))


def test_damaged_page_headers_end_in_one_kind_of_error() -> None:
    whole = file_of(TEXTS[:300]).getvalue()
    (group,) = read_footer(io.BytesIO(whole))
    position = group[1].start
    refused = 0
    for number in range(60):
        for value in (0x00, 0x19, 0x1C, 0x7F, 0xFF):
            data = bytearray(whole)
            data[position + number] = value
            try:
                assert rows_at_once(io.BytesIO(data), group, {1: 0}) >= 1
            except PageError:
                refused += 1
    assert refused > 20
