"""Predictions in files: cells and their types, formats, names, and memory."""

from __future__ import annotations

import csv
import datetime
import io
import json
import tracemalloc
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pyarrow
import pyarrow.parquet
import pytest

from greffe.data.text_rows import TextRow
from greffe.errors import DataError, InputError, RunError, RunExistsError
from greffe.inference.labelling import LabelledRow
from greffe.inference.prediction import Prediction
from greffe.inference.prediction_files import (
    FileFormat,
    Results,
    check_names,
    check_output,
    choose_format,
    json_rows,
    write_results,
)

LABELS = ["bad", "good"]


def labelled(cells: Sequence[tuple[Any, ...]]) -> Iterator[LabelledRow]:
    """Yield rows with these cells; the model abstains from every second one."""
    for number, kept in enumerate(cells):
        prediction = Prediction("good", 0.75, {"bad": 0.25, "good": 0.75}, abstains=number % 2 == 1)
        yield TextRow("text", kept), prediction


def results(cells: Sequence[tuple[Any, ...]], *columns: str, **more: Any) -> Results:
    return Results(labelled(cells), LABELS, columns, **more)


def written(format_: FileFormat, made: Results) -> bytes:
    file = io.BytesIO()
    write_results(file, format_, made)
    return file.getvalue()


def parquet(made: Results) -> pyarrow.Table:
    return pyarrow.parquet.read_table(io.BytesIO(written("parquet", made)))


# --- cells ----------------------------------------------------------------------------------------


def test_cells_come_first_and_keep_their_types_in_json_lines() -> None:
    cells = [(1, None), ("é", 2.5), (True, [1, {"a": None}])]
    lines = written("jsonl", results(cells, "k", "w")).decode().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [list(row) for row in rows] == [["k", "w", "label", "score", "probabilities"]] * 3
    assert [(row["k"], row["w"]) for row in rows] == cells
    assert [row["label"] for row in rows] == ["good", None, "good"]
    assert rows[1]["score"] == 0.75 and rows[1]["probabilities"] == {"bad": 0.25, "good": 0.75}


def test_json_has_no_numbers_that_are_not_finite() -> None:
    cells = [(float("nan"),), ([float("inf"), {"a": float("-inf")}],)]
    assert [row["k"] for row in json_rows(results(cells, "k"))] == [None, [None, {"a": None}]]


def test_csv_writes_texts_as_they_are_and_the_rest_as_json_does() -> None:
    moment = datetime.datetime(2024, 5, 1, 12)
    cells = [('a,"b"\nc',), (None,), (True,), ({"a": [1]},), (2.5,), (moment,), (b"\xc3\xa9",)]
    text = written("csv", results(cells, "k")).decode()
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["k", "label", "score", "bad", "good"]
    first = ['a,"b"\nc', "", "true", '{"a": [1]}', "2.5", "2024-05-01T12:00:00", "é"]
    assert [row[0] for row in rows] == first
    assert [row[1] for row in rows[:2]] == ["good", ""]
    assert "\r" not in text


def test_values_that_json_has_not_become_texts() -> None:
    cells = [(datetime.date(2024, 5, 1),), (Decimal("1.50"),), (b"\xff",)]
    assert [row["k"] for row in json_rows(results(cells, "k"))] == ["2024-05-01", "1.50", "\\xff"]


# --- parquet --------------------------------------------------------------------------------------


def test_parquet_keeps_the_types_of_the_source() -> None:
    types = (pyarrow.int16(), pyarrow.timestamp("ms"), pyarrow.dictionary("int32", "string"))
    moment = datetime.datetime(2024, 5, 1, 12)
    table = parquet(results([(1, moment, "a"), (None, None, None)], "k", "t", "d", types=types))
    assert table.schema.names == ["k", "t", "d", "label", "score", *LABELS]
    assert table.schema.types[:3] == list(types)
    assert table.to_pylist()[0]["t"] == moment
    assert table.column("label").to_pylist() == ["good", None]


def test_parquet_takes_types_from_the_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greffe.inference.prediction_files.GROUP_ROWS", 2)
    cells = [(1, "a", None), (None, "b", None), (3, "c", "x")]
    table = parquet(results(cells, "k", "s", "n"))
    assert table.schema.types[:3] == [pyarrow.int64(), pyarrow.string(), pyarrow.string()]
    assert [tuple(row.values())[:3] for row in table.to_pylist()] == cells
    with pytest.raises(DataError, match="'k' has values of different types") as caught:
        written("parquet", results([(1,), (2,), ("x",)], "k"))
    assert "rows 3 to 3" in str(caught.value.found)
    with pytest.raises(DataError, match="different types"):
        written("parquet", results([(1,), ("x",)], "k"))


def test_no_rows_are_a_file_without_rows() -> None:
    table = parquet(results([], "k"))
    assert table.num_rows == 0 and table.schema.names == ["k", "label", "score", *LABELS]
    assert written("csv", results([])) == b"label,score,bad,good\n"
    assert written("jsonl", results([])) == b""


# --- formats, names and files ---------------------------------------------------------------------


def test_the_format_follows_the_name_of_the_file() -> None:
    assert choose_format(None, None) == "table"
    assert choose_format("csv", None) == "csv"
    for kind in get_args(FileFormat):
        assert choose_format(None, Path(f"a.{kind.upper()}")) == kind
    assert choose_format("jsonl", Path("a.csv")) == "jsonl"
    with pytest.raises(InputError, match="not printed"):
        choose_format("parquet", None)
    with pytest.raises(InputError, match=r"a\.txt does not say which format"):
        choose_format(None, Path("a.txt"))


def test_two_columns_of_one_name_are_refused() -> None:
    check_names("jsonl", ["good", "id"], LABELS)
    check_names("csv", [], ["label", "other"])  # as it was before columns could be kept
    check_names("table", ["label"], LABELS)
    for format_, columns, labels in (
        ("jsonl", ["score"], LABELS),
        ("csv", ["good"], LABELS),
        ("parquet", [], ["label", "x"]),
    ):
        with pytest.raises(InputError, match="would be called"):
            check_names(format_, columns, labels)  # type: ignore[arg-type]


def test_a_file_that_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    out, source = tmp_path / "a.csv", tmp_path / "b.csv"
    check_output(tmp_path / "new" / "a.csv", None, overwrite=False)
    assert not (tmp_path / "new").exists()
    out.write_text("old")
    source.symlink_to(out)
    with pytest.raises(RunExistsError, match="exists already"):
        check_output(out, None, overwrite=False)
    check_output(out, str(tmp_path / "c.csv"), overwrite=True)
    with pytest.raises(InputError, match="is the input"):
        check_output(out, str(source), overwrite=True)
    with pytest.raises(RunError, match="is not a file"):
        check_output(tmp_path, None, overwrite=True)


@pytest.mark.alone
@pytest.mark.parametrize("format_", get_args(FileFormat))
def test_memory_does_not_grow_with_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: FileFormat
) -> None:
    monkeypatch.setattr("greffe.inference.prediction_files.GROUP_ROWS", 100)

    def rows(count: int) -> Iterator[LabelledRow]:
        for number in range(count):
            yield TextRow("text", (f"{number} " * 50,)), Prediction("good", 1.0, {"good": 1.0})

    def peak(count: int) -> int:
        tracemalloc.start()
        before = pyarrow.total_allocated_bytes()
        with (tmp_path / "a").open("wb") as file:
            write_results(file, format_, Results(rows(count), ["good"], ["k"]))
        held = pyarrow.total_allocated_bytes() - before
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most + held

    peak(100)  # imports
    assert peak(6000) < peak(600) + 100_000  # the cells of 6,000 rows take 1.5 MB
