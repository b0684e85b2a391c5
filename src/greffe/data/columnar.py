"""Tables in Arrow formats: .parquet files and Hugging Face datasets (`hf:`), as optional extras.

Only the requested columns are read.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from greffe.data.columns import OnBadRow, Row, Table, refuse
from greffe.data.files import LONGEST_RECORD, damaged, open_file, read_chunks, split_suffix
from greffe.data.parquet_pages import PageError, read_footer, rows_at_once
from greffe.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from datasets import Dataset, IterableDataset
    from pyarrow import Array, DataType
    from pyarrow.parquet import ParquetFile

HUB_PREFIX = "hf:"
HUB_NAMES = "hf:owner/name, hf:owner/name:split or hf:/folder, without a dataset script"
_BUFFER = 1 << 16  # bytes; without a buffer, a column of a whole row group is read at once


class ParquetTable(Table):
    """A .parquet file, read in small batches of rows."""

    unit: ClassVar[str] = "Row"

    @classmethod
    def open(cls, source: str) -> ParquetTable:
        """Read the column names from the schema."""
        with _parquet(source) as (_, file):
            return cls(source, tuple(file.schema_arrow.names), True)

    def column_types(self, indices: Sequence[int]) -> tuple[DataType, ...]:
        """Return the Arrow types of the requested columns."""
        with _parquet(self.source) as (_, file):
            return tuple(file.schema_arrow.field(index).type for index in indices)

    def rows(self, indices: Sequence[int], on_bad: OnBadRow = refuse) -> Iterator[Row]:
        """Yield the rows, numbered from 1; a missing value is None."""
        names = [self.columns[index] for index in indices]
        number = 0
        with _parquet(self.source) as (raw, file):
            self._check_types(file, names)
            leaves = {i: leaf.length for i, leaf in enumerate(file.schema) if leaf.path in names}
            for group, chunks in enumerate(read_footer(raw)):
                most = rows_at_once(raw, chunks, leaves)
                for batch in file.iter_batches(most, row_groups=[group], columns=names):
                    cells = [self._cells(batch.column(name), name, number) for name in names]
                    for row in zip(*cells, strict=True):
                        number += 1
                        yield number, list(row)

    def _check_types(self, file: ParquetFile, names: Sequence[str]) -> None:
        """Raise DataError if a column holds lists or structs: one row could be of any size."""
        from pyarrow.types import is_nested

        for name in names:
            kind = file.schema_arrow.field(name).type
            if is_nested(getattr(kind, "storage_type", kind)):
                raise DataError(
                    f"The column {name!r} of {self.source} holds lists or structs.",
                    expected="one text, number or label per row",
                    found=f"{kind}"[:80],
                    hint="specify another column with --text-column or --label-column, "
                    "and leave it out of --keep",
                )

    def _cells(self, column: Array, name: str, before: int) -> list[object]:
        try:
            cells: list[object] = column.to_pylist()
        except (ValueError, OverflowError) as error:  # invalid UTF-8; dates that Python has not
            raise DataError(
                f"The column {name!r} of {self.source} has an invalid value.",
                expected=f"values of the type {column.type}",
                found=f"in rows {before + 1:,} to {before + len(column):,}: {error}",
            ) from None
        return cells


@contextmanager
def _parquet(source: str) -> Iterator[tuple[BinaryIO, ParquetFile]]:
    """Open a file: its bytes, for the headers of its pages, and the reader of its values."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "Reading .parquet") from None
    with ExitStack() as stack:
        raw: BinaryIO = stack.enter_context(open_file(source))
        if split_suffix(source)[1]:  # the reader needs random access, so decompress first
            raw = stack.enter_context(tempfile.TemporaryFile())
            for chunk in read_chunks(source):
                raw.write(chunk)
        try:
            reader = ParquetFile(raw, pre_buffer=False, buffer_size=_BUFFER)
            yield raw, stack.enter_context(reader)
        except (pyarrow.ArrowException, PageError, OSError, UnicodeDecodeError) as error:
            # UnicodeDecodeError: names of columns that are not UTF-8
            raise damaged(source, error) from None


@dataclass(frozen=True)
class HubTable(Table):
    """A dataset by name or from a local folder, streamed; dataset scripts are not executed."""

    class_names: dict[str, list[str]]

    unit: ClassVar[str] = "Row"

    @classmethod
    def open(cls, source: str) -> HubTable:
        """Read the column names from the features or, if there are none, from the first row."""
        dataset = _load(source)
        if dataset.features is None:
            with _explained(source):
                first = next(iter(dataset.take(1)), None)
            if first is None:
                raise DataError(f"{source} has no rows.", expected="a dataset", found="no rows")
            return cls(source, tuple(first), True, {})
        classes = {
            name: list(feature.names)
            for name, feature in dataset.features.items()
            if type(feature).__name__ == "ClassLabel"
        }
        return cls(source, tuple(dataset.features), True, classes)

    def rows(self, indices: Sequence[int], on_bad: OnBadRow = refuse) -> Iterator[Row]:
        """Yield the rows, numbered from 1; class numbers become names, and -1 (unlabelled) None."""
        names = [self.columns[index] for index in indices]
        dataset = _load(self.source).select_columns(names)
        with _explained(self.source):
            for number, row in enumerate(dataset, start=1):
                yield number, [self._cell(number, name, row[name]) for name in names]

    def _cell(self, number: int, column: str, value: object) -> object:
        if isinstance(value, str | bytes) and len(value) > LONGEST_RECORD:
            raise DataError(
                f"{self.location(number)} is too long.",
                expected=f"texts of at most {LONGEST_RECORD:,} characters",
                found=f"{len(value):,} characters in {column}",
            )
        classes = self.class_names.get(column)
        if classes is None or not isinstance(value, int):
            return value
        return classes[value] if 0 <= value < len(classes) else None


def _load(source: str) -> Dataset | IterableDataset:
    try:
        from datasets import DatasetDict, load_dataset, load_from_disk
    except ImportError:
        raise MissingExtraError("datasets", "hub", "Reading hf:owner/name") from None
    name, split = split_hub_name(source)
    if not name:
        raise DataError(f"{source} names no dataset.", expected=HUB_NAMES, found="no name")
    with _explained(source):
        if any((Path(name) / mark).is_file() for mark in ("state.json", "dataset_dict.json")):
            saved = load_from_disk(name)
            parts = saved if isinstance(saved, DatasetDict) else {"train": saved}
        else:
            parts = load_dataset(name, streaming=True)
    chosen = split or ("train" if "train" in parts else next(iter(parts)))
    if chosen not in parts or (split is None and chosen != "train" and len(parts) > 1):
        raise DataError(
            f"{source} needs a split." if split is None else f"{source} has no split {split!r}.",
            expected=f"one of the splits {', '.join(parts)}",
            found=split or "no split given, and none named train",
            hint=f"for example {HUB_PREFIX}{name}:{next(iter(parts))}",
        )
    return parts[chosen]


def split_hub_name(source: str) -> tuple[str, str | None]:
    """Split `hf:owner/name:split` into (owner/name, split); local folders may contain colons."""
    path = source.removeprefix(HUB_PREFIX)
    name, colon, split = path.rpartition(":")
    if not colon or "/" in split or os.path.isdir(path):
        return path, None
    return name, split


@contextmanager
def _explained(source: str) -> Iterator[None]:
    # The library raises errors of file systems, parsers and network without a common base class.
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        raise DataError(
            f"{source} cannot be read.",
            expected=HUB_NAMES,
            found=f"{type(error).__name__}: {error}",
            hint="check the name and the network, or download the files and pass their folder",
        ) from error
