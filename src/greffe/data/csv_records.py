"""Records of .csv files: quoted as in RFC 4180, of bounded size, with the delimiter they use."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from greffe.data.columns import OnBadRow, is_header, like_names, refuse
from greffe.data.files import LONGEST_RECORD, Line, check_cells, too_long, whole_lines
from greffe.errors import DataError


class _Feed:
    """Lines for csv.reader; limits the size of one record and the number of its cells."""

    def __init__(self, lines: Iterator[Line], source: str, delimiter: str) -> None:
        self.lines = lines
        self.source = source
        self.delimiter = delimiter
        self.number = 0  # of the last line given
        self.start = 1  # line on which the record begins
        self.size = 0
        self.separators = 0
        self.error: DataError | None = None  # of a line of the record
        self.is_over = False

    def __iter__(self) -> Iterator[str]:
        for line in self.lines:
            self.number = line.number
            self.size += line.size
            if self.size > LONGEST_RECORD:
                raise too_long(self.source, self.start)
            self.separators += line.text.count(self.delimiter)
            check_cells(self.source, self.start, self.separators)
            self.error = self.error or line.error
            yield f"{line.text}\n"
        self.is_over = True

    def begin(self) -> None:
        self.start = self.number + 1
        self.size = self.separators = 0
        self.error = None


def csv_records(
    source: str, encoding: str, delimiter: str, on_bad: OnBadRow
) -> Iterator[tuple[int, list[str]]]:
    """Yield each record's first line number and its cells, which are empty for a blank line."""
    _allow_long_cells()
    feed = _Feed(whole_lines(source, encoding, keep_bad=True), source, delimiter)
    reader = csv.reader(feed, delimiter=delimiter, strict=True)
    while True:
        feed.begin()
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            ends = f", after line {feed.number}" if feed.number > feed.start else ""
            problem = DataError(
                f"{source} is not valid .csv: error in the row that begins on line {feed.start}.",
                expected='quoted cells that end with a quote, with quotes inside doubled: ""',
                found=f"{error}{ends}",
                hint="for label<TAB>text without quoting, rename the file to .tsv",
            )
            # A quote that is never closed takes in all rows after it: these cannot be left out.
            (refuse if feed.is_over else on_bad)(feed.error or problem)
            continue
        if feed.error is not None:
            on_bad(feed.error)
        else:
            yield feed.start, record


def _allow_long_cells() -> None:
    """Let the csv module read cells as long as a row may be; its own limit is 128 KiB."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_RECORD))


def find_delimiter(source: str, encoding: str, given: Sequence[str | None]) -> str:
    """Return a comma, or what separates names where a comma does not.

    Spreadsheets write semicolons in French, and tabs when copied from.
    """
    _allow_long_cells()
    lines = (line.text for line in whole_lines(source, encoding) if line.text)
    first = next(lines, "")
    for delimiter in ",;\t":
        check_cells(source, 1, first.count(delimiter))
    if len(_split(first, ",")) != 1:
        return ","
    named = {name for name in given if name is not None}
    for delimiter in (";", "\t"):
        cells = _split(first, delimiter)
        if len(cells) > 1 and (named & set(cells) or is_header(cells, ()) or like_names(cells)):
            return delimiter
    return ","


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])
