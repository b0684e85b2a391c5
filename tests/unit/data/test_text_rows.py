"""Texts to label: cells that are kept, and rows that cannot be read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from tests.unit.data.reading import written

from greffe.config.options import Reading
from greffe.data.text_rows import SkippedRows, TextRow, open_text_rows
from greffe.errors import DataError


def skipping(source: str, **options: object) -> tuple[list[TextRow], int]:
    """Return the rows that can be read, and the number of the others."""
    skipped = SkippedRows()
    opened = open_text_rows(source, Reading(), skipped=skipped, **options)  # type: ignore[arg-type]
    return list(opened.rows), skipped.count


# --- cells that are kept --------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_cells_of_text_tables_are_strings_in_the_order_asked_for(
    tmp_path: Path, suffix: str
) -> None:
    table = "n,text,key\n01,bon,a\n\n3,bof,\n".replace(",", "\t" if suffix == "tsv" else ",")
    opened = open_text_rows(
        written(tmp_path / f"a.{suffix}", table), Reading(), id_column="key", keep=["n", "key"]
    )
    assert opened.columns == ("key", "n") and opened.types is None
    assert list(opened.rows) == [
        TextRow("bon", ("a", "01")),
        TextRow("", (None, None)),  # a blank line is an empty text, as without columns
        TextRow("bof", ("", "3")),
    ]


def test_cells_of_json_keep_their_types(tmp_path: Path) -> None:
    cells = [7, None, 2.5, True, "x", [1, {"y": None}], 2**60]
    lines = "".join(json.dumps({"text": "bon", "k": cell}) + "\n" for cell in cells)
    packed = written(tmp_path / "a.jsonl.gz", gzip.compress(lines.encode()))
    found = [row.kept[0] for row in open_text_rows(packed, Reading(), keep=["k"]).rows]
    assert found == cells
    assert list(map(type, found)) == list(map(type, cells))


def test_columns_of_parquet_come_with_their_types(tmp_path: Path) -> None:
    table = pyarrow.table(
        {"text": ["bon", None], "k": pyarrow.array([1, None], pyarrow.int16()), "z": ["é", "b"]}
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    opened = open_text_rows(tmp_path / "a.parquet", Reading(), id_column="K", keep=["z"])
    assert opened.columns == ("k", "z")  # as the table writes them
    assert opened.types == (pyarrow.int16(), pyarrow.string())
    assert list(opened.rows) == [TextRow("bon", (1, "é")), TextRow("", (None, "b"))]


def test_a_column_to_keep_means_that_the_first_row_is_a_header(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", "code,phrase\n1,bon\n")
    opened = open_text_rows(source, Reading(), id_column="code")
    assert list(opened.rows) == [TextRow("bon", ("1",))]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "bon\n", "has no columns"),
        ("a.csv", "text,n\nbon,1\n", "has no column 'k'"),
        ("a.jsonl", '"bon"\n"k"\n', "has no names of columns"),
        ("a.jsonl", '"k"\n', "has no names of columns"),
    ],
)
def test_a_column_that_is_not_there_is_an_error(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    source = written(tmp_path / name, content)
    for columns in ({"id_column": "k"}, {"keep": ["k"]}):
        with pytest.raises(DataError, match=message) as caught:
            open_text_rows(source, Reading(), **columns)  # type: ignore[arg-type]
        assert "--id-column" in str(caught.value) or "--keep" in str(caught.value)


def test_standard_input_has_no_columns() -> None:
    with pytest.raises(DataError, match="Standard input has no columns"):
        open_text_rows("-", Reading(), id_column="k")


# --- rows that cannot be read ---------------------------------------------------------------------

BAD = {
    "a.csv": b'k,text\n1,bon\n2,a,b\n3,"bad" x\n4,caf\xe9\n5,"two\nlines"\n6,"l\xe9\nm"\n7,fin\n',
    "a.tsv": b"k\ttext\n1\tbon\n2\ta\tb\n3\n4\tcaf\xe9\n5\ttwo\nlines\n7\tfin\n",
    "a.jsonl": b'oops\n{"k":"1","text":"bon"}\n{"k":"2"}\n[1]\n{"k":"4","text":"caf\xe9"}\n'
    b'{"k":"5","text":["x"]}\n{"k":"7","text":"fin"}\n',
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_left_out_and_counted(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = written(tmp_path / name, BAD[name])
    rows, count = skipping(source, id_column="k")
    good = [("1", "bon"), *([("5", "two\nlines")] if name == "a.csv" else []), ("7", "fin")]
    if name == "a.tsv":
        good.insert(1, ("5", "two"))
    assert [(row.kept[0], row.text) for row in rows] == good
    assert count == {"a.csv": 4, "a.tsv": 4, "a.jsonl": 5}[name]
    assert capsys.readouterr().err.count("skipped: ") == count
    with pytest.raises(DataError, match=r"[Ll]ine (1|3)"):
        list(open_text_rows(source, Reading(), id_column="k").rows)


def test_only_the_first_bad_rows_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = written(tmp_path / "a.txt", b"bon\n" + b"\xff\n" * 40 + b"fin")
    rows, count = skipping(source)
    assert ([row.text for row in rows], count) == (["bon", "fin"], 40)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert "line 2," in lines[0] and "line 6," in lines[4]


def test_a_text_that_is_too_long_is_a_bad_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greffe.data.text_rows.LONGEST_TEXT", 5)
    source = written(tmp_path / "a.csv", "k,text\n1,bon\n2,beaucoup\n")
    assert skipping(source) == ([TextRow("bon")], 1)
    with pytest.raises(DataError, match=r"Line 3 of .* has 8 characters"):
        list(open_text_rows(source, Reading()).rows)


def test_a_quote_that_is_never_closed_is_an_error_in_any_case(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", 'k,text\n1,bon\n2,"bof\n3,fin\n')
    with pytest.raises(DataError, match="begins on line 3") as caught:
        skipping(source)
    assert "after line 4" in str(caught.value.found)


def test_a_header_that_cannot_be_read_is_an_error_in_any_case(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", b"k\xe9,text\n1,bon\n")
    with pytest.raises(DataError, match="line 1"):
        skipping(source)
