"""Tables in Arrow's world: .parquet files, and datasets by name (`hf:`). Both are optional extras.

Knows nothing of which column means what. Only the wanted columns are read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

from greffe.data.columns import Row, Table
from greffe.data.files import check_file, damaged, read_chunks, split_suffix
from greffe.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from datasets import Dataset, IterableDataset
    from pyarrow.parquet import ParquetFile

HUB_PREFIX = "hf:"
_ROWS_AT_ONCE = 256


class ParquetTable(Table):
    """A .parquet file, read a few rows at a time."""

    unit: ClassVar[str] = "Row"

    @classmethod
    def open(cls, source: str) -> ParquetTable:
        """Look at the schema."""
        with _parquet(source) as file:
            return cls(source, tuple(file.schema_arrow.names), True)

    def rows(self, wanted: Sequence[int]) -> Iterator[Row]:
        """Rows from 1 on; a missing value is None."""
        names = [self.columns[position] for position in wanted]
        number = 0
        with _parquet(self.source) as file:
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=names):
                cells = [batch.column(name).to_pylist() for name in names]
                for row in zip(*cells, strict=True):
                    number += 1
                    yield number, list(row)


@contextmanager
def _parquet(source: str) -> Iterator[ParquetFile]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "Reading .parquet") from None
    check_file(source)
    with ExitStack() as linear:
        where: str | IO[bytes] = source
        if split_suffix(source)[1]:  # the reader jumps about in the file, so it needs it unpacked
            where = linear.enter_context(tempfile.TemporaryFile())
            for chunk in read_chunks(source):
                where.write(chunk)
            where.seek(0)
        try:
            yield linear.enter_context(ParquetFile(where, pre_buffer=False))
        except (pyarrow.ArrowException, OSError) as error:
            raise damaged(source, error) from None


@dataclass(frozen=True)
class HubTable(Table):
    """A dataset by name or from a local folder, streamed; none of its code is run."""

    names_of_classes: dict[str, list[str]]

    unit: ClassVar[str] = "Row"

    @classmethod
    def open(cls, source: str) -> HubTable:
        """Look at the features, or at the first row where the format has none."""
        dataset = _load(source)
        if dataset.features is None:
            with _explained(source):
                first = next(iter(dataset.take(1)), None)
            if first is None:
                raise DataError(f"{source} holds no rows.", expected="a dataset", found="no row")
            return cls(source, tuple(first), True, {})
        classes = {
            name: list(feature.names)
            for name, feature in dataset.features.items()
            if type(feature).__name__ == "ClassLabel"
        }
        return cls(source, tuple(dataset.features), True, classes)

    def rows(self, wanted: Sequence[int]) -> Iterator[Row]:
        """Rows from 1 on; classes by their names, and an unlabelled row (-1) without one."""
        names = [self.columns[position] for position in wanted]
        dataset = _load(self.source).select_columns(names)
        with _explained(self.source):
            for number, row in enumerate(dataset, start=1):
                yield number, [self._named(name, row[name]) for name in names]

    def _named(self, column: str, value: object) -> object:
        classes = self.names_of_classes.get(column)
        if classes is None or not isinstance(value, int):
            return value
        return classes[value] if 0 <= value < len(classes) else None


def _load(source: str) -> Dataset | IterableDataset:
    try:
        from datasets import DatasetDict, load_dataset, load_from_disk
    except ImportError:
        raise MissingExtraError("datasets", "hub", "Reading hf:owner/name") from None
    name, split = split_hub_name(source)
    with _explained(source):
        if any((Path(name) / mark).is_file() for mark in ("state.json", "dataset_dict.json")):
            saved = load_from_disk(name)
            parts = saved if isinstance(saved, DatasetDict) else {"train": saved}
        else:
            parts = load_dataset(name, streaming=True)
    chosen = split or ("train" if "train" in parts else next(iter(parts)))
    if chosen not in parts or (split is None and chosen != "train" and len(parts) > 1):
        raise DataError(
            f"{source}: which split?" if split is None else f"{source} has no split {split!r}.",
            expected=f"one of the splits {', '.join(parts)}",
            found=split or "no split named, and none called train",
            hint=f"for example {HUB_PREFIX}{name}:{next(iter(parts))}",
        )
    return parts[chosen]


def split_hub_name(source: str) -> tuple[str, str | None]:
    """`hf:owner/name:split` → (owner/name, split); a local folder may hold a colon in its name."""
    whole = source.removeprefix(HUB_PREFIX)
    name, colon, split = whole.rpartition(":")
    if not colon or "/" in split or Path(whole).is_dir():
        return whole, None
    return name, split


@contextmanager
def _explained(source: str) -> Iterator[None]:
    # The library lets through errors of its file systems, parsers and network, of no common class.
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        raise DataError(
            f"{source} cannot be read.",
            expected="hf:owner/name, hf:owner/name:split or hf:/folder, without code of its own",
            found=f"{type(error).__name__}: {error}",
            hint="check the name, the network, or download the files and give their folder",
        ) from error
