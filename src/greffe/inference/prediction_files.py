"""Predictions as JSON lines, .csv and .parquet: rows in order, written as they come.

Memory is bounded by one row, and in .parquet by one row group. Knows no model, nor torch.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from greffe.errors import DataError, InputError, MissingExtraError, RunError, RunExistsError
from greffe.inference.labelling import LabelledRow
from greffe.parsing import format_json
from greffe.storage import check_writable, encode_json

if TYPE_CHECKING:
    from pyarrow import Array, DataType, RecordBatch, Schema

FileFormat = Literal["jsonl", "csv", "parquet"]
Format = Literal["table", FileFormat]
GROUP_ROWS = 4096
"""Rows of a group in .parquet: they are in memory together."""
_BY_SUFFIX: dict[str, FileFormat] = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


@dataclass(frozen=True)
class Results:
    """Labelled rows, and what their columns are called."""

    rows: Iterator[LabelledRow]
    labels: Sequence[str]
    columns: Sequence[str] = ()
    """Columns of the input that are kept; they come first."""
    types: Sequence[DataType] | None = None
    """Their types in Arrow, if the input has such types."""


# --- before anything is read --------------------------------------------------------------------


def choose_format(given: Format | None, out: Path | None) -> Format:
    """Return the format that was asked for, or that the name of the file asks for."""
    if out is None:
        if given == "parquet":
            raise InputError(
                "A .parquet file is not printed.",
                expected="--out FILE with --format parquet",
                hint="--out predictions.parquet",
            )
        return given or "table"
    if given is None and out.suffix.lower() not in _BY_SUFFIX:
        raise InputError(
            f"The name {out.name} does not say which format to write.",
            expected=f"a name that ends in {', '.join(_BY_SUFFIX)}; or --format",
            found=out.suffix or "no suffix",
        )
    return given or _BY_SUFFIX[out.suffix.lower()]


def check_output(out: Path, source: str | None, *, overwrite: bool) -> None:
    """Raise an error unless predictions of a source may be written to this file."""
    check_writable(out.parent)
    if not os.path.lexists(out):
        return
    if not out.is_file():
        raise RunError(f"{out} is not a file.", expected="the name of a file", hint="another --out")
    if source is not None and os.path.exists(source) and os.path.samefile(source, out):
        raise InputError(
            f"{out} is the input.", expected="another file for the output", hint="another --out"
        )
    if not overwrite:
        raise RunExistsError(
            f"{out} exists already.",
            expected="the name of a new file",
            hint="choose another --out, or replace the file with --overwrite",
        )


def check_names(format_: Format, columns: Sequence[str], labels: Sequence[str]) -> None:
    """Raise an error if two columns of the output would have the same name."""
    match format_:
        case "table":
            return
        case "jsonl":
            others = ["label", "score", "probabilities"]
        case "csv" | "parquet":
            others = ["label", "score", *labels]
    names = [*columns, *others] if columns or format_ == "parquet" else []
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InputError(
            f"Two columns of the output would be called {twice[0]!r}.",
            expected=f"other names than {', '.join(others[:20])}",
            hint="rename the column in the input"
            if twice[0] in columns
            else "use --format jsonl, where the probabilities are an object of their own",
        )


# --- rows ---------------------------------------------------------------------------------------


def json_rows(results: Results) -> Iterator[dict[str, Any]]:
    """Yield each prediction as an object, after the columns that are kept."""
    for row, prediction in results.rows:
        kept = map(_as_json, row.kept)
        yield {
            **dict(zip(results.columns, kept, strict=True)),
            "label": None if prediction.abstains else prediction.label,
            "score": prediction.score,
            "probabilities": prediction.probabilities,
        }


def csv_rows(results: Results) -> Iterator[list[object]]:
    """Yield the header, then the cells of each prediction."""
    yield [*results.columns, "label", "score", *results.labels]
    for row, prediction in results.rows:
        label = None if prediction.abstains else prediction.label
        probabilities = prediction.probabilities.values()
        yield [*map(_as_cell, row.kept), label, prediction.score, *probabilities]


def _as_json(value: Any) -> Any:
    """Return a cell as JSON has it: what is not finite is null, and dates are texts."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {name: _as_json(part) for name, part in value.items()}
        case list():
            return [_as_json(part) for part in value]
    return _as_text(value)


def _as_cell(value: Any) -> object:
    """Return a cell as .csv has it: texts as they are, and the rest as JSON writes it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | dict | list):
        return format_json(_as_json(value))
    return str(value) if isinstance(value, int | float) else _as_text(value)


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


# --- files --------------------------------------------------------------------------------------


def write_results(file: BinaryIO, format_: FileFormat, results: Results) -> None:
    """Write all rows to a file."""
    writers: dict[str, Callable[[BinaryIO, Results], None]] = {
        "jsonl": _write_json_lines,
        "csv": _write_csv,
        "parquet": _write_parquet,
    }
    writers[format_](file, results)


def _write_json_lines(file: BinaryIO, results: Results) -> None:
    for row in json_rows(results):
        file.write(encode_json(format_json(row) + "\n"))


def _write_csv(file: BinaryIO, results: Results) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
    csv.writer(text, lineterminator="\n").writerows(csv_rows(results))
    text.detach()  # writes the rest; the file stays open


def _write_parquet(file: BinaryIO, results: Results) -> None:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "Writing .parquet") from None
    first = list(islice(results.rows, GROUP_ROWS))
    schema = pyarrow.schema(
        [
            *zip(results.columns, _kept_types(results, first), strict=True),
            ("label", pyarrow.string()),
            ("score", pyarrow.float64()),
            *((label, pyarrow.float64()) for label in results.labels),
        ]
    )
    before = 0
    with ParquetWriter(file, schema) as writer:
        group = first
        while group:
            writer.write_batch(_record_batch(group, schema, before))
            before += len(group)
            group = list(islice(results.rows, GROUP_ROWS))


def _kept_types(results: Results, first: Sequence[LabelledRow]) -> list[DataType]:
    """Return the types of the columns that are kept; without types, those of the first rows."""
    import pyarrow

    if results.types is not None:
        return [*results.types]
    kinds = []
    for index, name in enumerate(results.columns):
        cells = [row.kept[index] for row, _ in first]
        kind = _column(cells, None, name, 0).type
        kinds.append(pyarrow.string() if pyarrow.types.is_null(kind) else kind)
    return kinds


def _record_batch(group: Sequence[LabelledRow], schema: Schema, before: int) -> RecordBatch:
    """Return rows as a batch; `before` is the number of rows written before them."""
    import pyarrow

    rows = [
        (
            *row.kept,
            None if prediction.abstains else prediction.label,
            prediction.score,
            *prediction.probabilities.values(),
        )
        for row, prediction in group
    ]
    columns = [
        _column(cells, field.type, field.name, before)
        for cells, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _column(cells: Sequence[Any], kind: DataType | None, name: str, before: int) -> Array:
    import pyarrow

    try:
        return pyarrow.array(cells, kind)
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise DataError(
            f"The column {name!r} has values of different types.",
            expected="one type in all rows" if kind is None else f"{kind}, as in the rows before",
            found=f"in rows {before + 1:,} to {before + len(cells):,}: {error}",
            hint="use --format jsonl, where each value keeps its own type",
        ) from None
