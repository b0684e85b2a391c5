"""Parquet files, and datasets by name from local folders."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from tests.unit.data.reading import documents, examples, texts, written

from greffe.data import columnar
from greffe.data.tables import Example
from greffe.errors import DataError, MissingExtraError

REVIEWS = ["Un livre magnifique.", "Déçu, à éviter !"]


# --- parquet -----------------------------------------------------------------------------------


def test_truncated_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": REVIEWS * 500}), path)
    whole = path.read_bytes()
    for damage in (whole[: len(whole) // 2], b"not parquet at all", whole[:4]):
        with pytest.raises(DataError, match=r"a\.parquet is damaged or truncated"):
            documents(written(path, damage))


def test_parquet_with_missing_values_bytes_and_several_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = [f"texte {number}" for number in range(1000)]
    table = pyarrow.table({"text": [None, *texts], "other": [b"\xff"] * 1001})
    pyarrow.parquet.write_table(table, path, row_group_size=100)
    assert documents(str(path)) == texts
    with pytest.raises(DataError, match=r"Row 1 of .*a\.parquet: the text is not UTF-8"):
        documents(str(path), text_column="other")
    pyarrow.parquet.write_table(pyarrow.table({"text": ["é".encode()]}), path)
    assert documents(str(path)) == ["é"]


def test_one_long_value_in_every_row_takes_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    once = pyarrow.DictionaryArray.from_arrays([0] * 300, ["mot " * (1 << 20)])
    pyarrow.parquet.write_table(pyarrow.table({"text": once}), path, compression="zstd")
    assert path.stat().st_size < 10_000
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from greffe.config.options import Reading\n"
        "from greffe.data.text_rows import open_text_rows\n"
        "size = sum(len(row.text) for row in open_text_rows(sys.argv[1], Reading()).rows)\n"
        # Not ru_maxrss: on Linux a new process inherits the value of its parent.
        "status = Path('/proc/self/status').read_text()\n"
        "print(size >> 20, int(status.split('VmHWM:')[1].split()[0]) >> 10)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    size, peak = map(int, done.stdout.split())
    assert size == 1200
    assert peak < 1100, "in megabytes; 2,400 with all rows at once"


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([["a"], ["b"]]),
        pyarrow.array([{"a": "b"}, {"a": "c"}]),
        pyarrow.array([[("a", 1)], []], pyarrow.map_(pyarrow.string(), pyarrow.int32())),
    ],
)
def test_lists_and_structs_are_refused(tmp_path: Path, column: pyarrow.Array) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"text": column}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"'text' of .* holds lists or structs") as caught:
        texts(tmp_path / "a.parquet")
    assert "--text-column" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (pyarrow.array([2**62] * 2, pyarrow.timestamp("ms")), "rows 1 to 2"),
        (pyarrow.array([2**30] * 2, pyarrow.date32()), "rows 1 to 2"),
        (pyarrow.array([b"\xff", b"a"]).view(pyarrow.string()), "0xff"),
    ],
)
def test_values_that_python_cannot_represent_are_refused(
    tmp_path: Path, column: pyarrow.Array, found: str
) -> None:
    table = pyarrow.table({"text": column, "label": column})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"'text' of .* has an invalid value") as caught:
        examples(tmp_path / "a.parquet")
    assert found in str(caught.value.found)


def test_numbers_and_dates_are_read_as_text(tmp_path: Path) -> None:
    columns = {
        "text": pyarrow.array([Decimal("1.50"), None]),
        "label": pyarrow.array([0, 86_400], pyarrow.timestamp("s")),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    assert examples(tmp_path / "a.parquet") == [
        Example("1.50", "1970-01-01 00:00:00"),
        Example("", "1970-01-02 00:00:00"),
    ]


def test_a_parquet_name_that_several_columns_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays = [pyarrow.array(["a", "b"])] * 4
    table = pyarrow.table(arrays, ["text", "x", "x", "label"])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert texts(tmp_path / "a.parquet") == ["a", "b"]
    assert "same name: x\n" in capsys.readouterr().err
    pyarrow.parquet.write_table(
        table.rename_columns([*"tt", "text", "text"]), tmp_path / "b.parquet"
    )
    with pytest.raises(DataError, match="2 columns named 'text'") as caught:
        texts(tmp_path / "b.parquet")
    assert caught.value.found == "columns 3 and 4"


def test_a_parquet_file_without_rows_has_no_texts(tmp_path: Path) -> None:
    empty = pyarrow.table({"text": pyarrow.array([], pyarrow.string())})
    pyarrow.parquet.write_table(empty, tmp_path / "a.parquet")
    assert texts(tmp_path / "a.parquet") == []


def test_parquet_without_pyarrow_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(
        MissingExtraError, match=r"Reading \.parquet requires the library"
    ) as caught:
        documents(written(tmp_path / "a.parquet", "PAR1"))
    assert "greffe[parquet]" in str(caught.value)


# --- hf: ----------------------------------------------------------------------------------------


def test_a_local_dataset_folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for split, part in (("train", REVIEWS), ("test", ["autre"])):
        table = pyarrow.table({"id": list(range(len(part))), "text": part})
        pyarrow.parquet.write_table(table, tmp_path / "data" / f"{split}-00000.parquet")
    assert documents(f"hf:{tmp_path}") == REVIEWS
    assert documents(f"hf:{tmp_path}:test") == ["autre"]
    with pytest.raises(DataError, match="has no split 'dev'") as caught:
        documents(f"hf:{tmp_path}:dev")
    assert "train, test" in str(caught.value)


def test_a_local_dataset_folder_of_json_lines(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"id": 1, "avis": review}) + "\n" for review in REVIEWS)
    written(tmp_path / "train.jsonl", lines)
    assert documents(f"hf:{tmp_path}") == REVIEWS
    with pytest.raises(DataError, match="has no column 'message'") as caught:
        documents(f"hf:{tmp_path}", text_column="message")
    assert "id, avis" in str(caught.value)


def test_a_value_of_a_dataset_is_as_long_as_a_row_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ("short", "x" * 21)
    written(tmp_path / "train.jsonl", "".join(json.dumps({"text": row}) + "\n" for row in rows))
    monkeypatch.setattr(columnar, "LONGEST_RECORD", 20)
    with pytest.raises(DataError, match=r"2.* is too long") as caught:
        documents(f"hf:{tmp_path}")
    assert "21 characters in text" in str(caught.value.found)


def test_a_folder_that_the_datasets_library_saved(tmp_path: Path) -> None:
    from datasets import Dataset, DatasetDict

    data = Dataset.from_dict({"text": REVIEWS})
    data.save_to_disk(tmp_path / "one")
    assert documents(f"hf:{tmp_path}/one") == REVIEWS
    DatasetDict({"small": data, "large": data}).save_to_disk(tmp_path / "two")
    assert documents(f"hf:{tmp_path}/two:large") == REVIEWS
    with pytest.raises(DataError, match=r"two needs a split") as caught:
        documents(f"hf:{tmp_path}/two")
    assert "small, large" in str(caught.value)


def test_a_dataset_that_is_not_there_or_damaged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="missing cannot be read") as caught:
        documents(f"hf:{tmp_path}/missing")
    assert "FileNotFoundError" in str(caught.value)
    written(tmp_path / "train.parquet", "PAR1 but nothing more")
    with pytest.raises(DataError, match="cannot be read"):
        documents(f"hf:{tmp_path}")


def test_a_dataset_needs_a_name() -> None:
    with pytest.raises(DataError, match="names no dataset"):
        documents("hf:")


def test_datasets_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match="'datasets', which is not installed") as caught:
        documents("hf:owner/name")
    assert "greffe[hub]" in str(caught.value)


def test_class_labels_of_a_dataset_are_read_by_name(tmp_path: Path) -> None:
    from datasets import ClassLabel, Dataset, Features, Value

    features = Features({"text": Value("string"), "label": ClassLabel(names=["neg", "pos"])})
    data = Dataset.from_dict({"text": ["bon", "mal"], "label": [1, 0]}, features=features)
    data.to_parquet(tmp_path / "train.parquet")
    assert examples(f"hf:{tmp_path}") == [Example("bon", "pos"), Example("mal", "neg")]
    unlabelled = Dataset.from_dict({"text": ["bon", "?"], "label": [1, -1]}, features=features)
    unlabelled.to_parquet(tmp_path / "train.parquet")
    assert texts(f"hf:{tmp_path}") == ["bon", "?"]
    with pytest.raises(DataError, match=r"Row 2 of hf:.* has no label"):
        examples(f"hf:{tmp_path}")
