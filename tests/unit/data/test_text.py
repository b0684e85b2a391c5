"""From sources to documents: what is found, what is read, what is cut, what is refused."""

from __future__ import annotations

import gzip
import json
import lzma
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from greffe.data.text import (
    LONG_DOCUMENT,
    Documents,
    ReadOptions,
    find_sources,
    read_documents,
    source_identity,
)
from greffe.errors import DataError, MissingExtraError

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
REVIEWS = ["Un livre magnifique.", "Déçu, à éviter !"]


def written(path: Path, data: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


def documents(source: str, **options: object) -> list[str]:
    return list(read_documents(source, ReadOptions(**options)))  # type: ignore[arg-type]


# --- sources ------------------------------------------------------------------------------------


def test_folders_are_searched_deeply_and_in_order(tmp_path: Path) -> None:
    wanted = [
        written(tmp_path / name, "x")
        for name in ("a.txt", "z.jsonl.zst", "b/a.csv", "b/c/train.review.spm")
    ]
    for other in ("b/c/train.label", "image.png", "README", ".hidden.txt", ".git/x.txt"):
        written(tmp_path / other, "x")
    assert find_sources([tmp_path]) == wanted


def test_patterns_files_and_names_mix_without_repeats(tmp_path: Path) -> None:
    first, second = (written(tmp_path / name, "x") for name in ("a.txt", "b.txt"))
    deep = written(tmp_path / "deep/er/c.txt", "x")
    odd = written(tmp_path / "odd[1].txt", "x")
    assert find_sources([second, f"{tmp_path}/?.txt", "hf:owner/name"]) == [
        *(second, first, "hf:owner/name")
    ]
    assert find_sources([f"{tmp_path}/**/c.txt", f"{tmp_path}/de*"]) == [deep]
    assert find_sources([odd]) == [odd]
    assert find_sources([written(tmp_path / "enwik8", "x")]) == [str(tmp_path / "enwik8")]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.txt cannot be read") as caught:
        find_sources([tmp_path / "no.txt"])
    assert "No such file or directory" in str(caught.value)


def test_an_empty_file_is_refused_by_name_and_passed_over_in_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty, full = written(tmp_path / "empty.txt", ""), written(tmp_path / "full.txt", "x")
    with pytest.raises(DataError, match=r"empty\.txt is empty"):
        find_sources([full, empty])
    assert find_sources([tmp_path]) == [full]
    assert "1 empty file is left out" in capsys.readouterr().err


def test_a_folder_with_nothing_readable_says_what_is_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds nothing that can be read") as caught:
        find_sources([tmp_path])
    assert caught.value.found == "no files"
    written(tmp_path / "photo.png", "x")
    written(tmp_path / "empty.txt", "")
    with pytest.raises(DataError) as caught:
        find_sources([tmp_path])
    assert caught.value.found == "2 files, 1 of them empty"
    assert ".txt .jsonl .csv .tsv .parquet" in str(caught.value)
    with pytest.raises(DataError, match="holds nothing that can be read"):
        find_sources([f"{tmp_path}/*.csv"])


def test_an_unknown_suffix_and_no_input_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"notes\.docx is of a kind that is not read") as caught:
        find_sources([written(tmp_path / "notes.docx", "x")])
    assert ".parquet" in str(caught.value)
    with pytest.raises(DataError, match="No text was given"):
        find_sources([])


def test_identity_changes_with_the_file(tmp_path: Path) -> None:
    source = written(tmp_path / "a.txt", "un")
    before = source_identity(source)
    assert before["name"] == "a.txt" and before["size"] == 2
    written(tmp_path / "a.txt", "deux")
    assert source_identity(source) != before
    assert source_identity("hf:owner/name:train") == {"name": "hf:owner/name:train"}


# --- documents ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("line", ["Un.", " Deux. ", "Trois.", "Quatre."]),
        ("paragraph", ["Un.\n Deux. ", "Trois.\nQuatre."]),
        ("file", ["Un.\n Deux. \n\n \t\nTrois.\nQuatre."]),
    ],
)
def test_what_a_document_is(tmp_path: Path, kind: Documents, expected: list[str]) -> None:
    source = written(tmp_path / "a.txt", "\nUn.\r\n Deux. \n\n \t\nTrois.\rQuatre.\n\n")
    assert documents(source, documents=kind) == expected


def test_pieces_are_joined(tmp_path: Path) -> None:
    source = written(tmp_path / "x.review.spm", "▁Que ▁faire ? ▁L ' amour\n\n▁Rien .\n")
    assert documents(source) == ["Que faire? L'amour", "Rien."]


@pytest.mark.parametrize("suffix", list(COMPRESS))
@pytest.mark.parametrize("kind", ["txt", "jsonl", "csv", "tsv", "parquet"])
def test_every_kind_in_every_compression(tmp_path: Path, kind: str, suffix: str) -> None:
    plain = tmp_path / "plain"
    if kind == "parquet":
        table = pyarrow.table({"label": [1, 0], "review": REVIEWS})
        pyarrow.parquet.write_table(table, plain)
    else:
        rows = {
            "txt": REVIEWS,
            "jsonl": [json.dumps({"label": 1, "review": review}) for review in REVIEWS],
            "csv": ["label,Review", *(f'1,"{review}"' for review in REVIEWS)],
            "tsv": ["label\tReview", *(f"1\t{review}" for review in REVIEWS)],
        }
        written(plain, "\n".join(rows[kind]))
    source = written(tmp_path / f"a.{kind}{suffix}", COMPRESS[suffix](plain.read_bytes()))
    assert documents(source) == REVIEWS


def test_truncated_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": REVIEWS * 500}), path)
    whole = path.read_bytes()
    for damage in (whole[: len(whole) // 2], b"not parquet at all", whole[:4]):
        with pytest.raises(DataError, match=r"a\.parquet is damaged or cut short"):
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


def test_parquet_without_pyarrow_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"Reading \.parquet needs the library") as caught:
        documents(written(tmp_path / "a.parquet", "PAR1"))
    assert "greffe[parquet]" in str(caught.value)


def test_no_heavy_library_is_loaded_with_the_module() -> None:
    code = (
        "import sys, greffe.data.text, greffe.data.tables\n"
        "print(sorted({'torch', 'pyarrow', 'datasets', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- tables as a corpus ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("named.csv", "id,AVIS,note\n1,bon,5\n2,mal,1\n"),
        ("first_name_wins.csv", "comment,text,review\nx,bon,y\nx,mal,y\n"),
        ("one_column.csv", "bon\nmal\n"),
        ("one_column.tsv", "bon\n\nmal\n"),
        ("headerless.tsv", "1\tbon\n0\tmal\n"),
        ("semicolons.csv", '"texte";"note"\n"bon";5\n"mal";1\n'),
        ("bom.csv", "\ufefftext,x\nbon,1\nmal,2\n"),
        ("objects.jsonl", '{"id": 1, "content": "bon"}\n\n{"content": "mal", "more": [1]}\n'),
        ("strings.jsonl", '"bon"\n"mal"\n'),
        ("mixed.jsonl", '{"text": "bon"}\n"mal"\n{"text": null}\n{"text": " "}\n'),
    ],
)
def test_the_text_column_is_found(tmp_path: Path, name: str, content: str) -> None:
    assert documents(written(tmp_path / name, content)) == ["bon", "mal"]


def test_the_text_column_can_be_named(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", "text,Message\nnon,bon\nnon,mal\n")
    assert documents(source, text_column="Message") == ["bon", "mal"]
    assert documents(source, text_column="message") == ["bon", "mal"]
    semicolons = written(tmp_path / "b.csv", "ID;Message\n1;bon\n2;mal\n")
    assert documents(semicolons, text_column="Message") == ["bon", "mal"]


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.csv", "id,date,label\n1,2,3\n", "3 columns in the header: id, date, label"),
        ("a.tsv", "1\t2\tbon\n", "3 columns in the first row, taken for data: 1, 2, bon"),
        ("a.jsonl", '{"id": 1, "message": "x"}\n', "2 columns in the header: id, message"),
    ],
)
def test_a_table_without_text_says_which_columns_there_are(
    tmp_path: Path, name: str, content: str, found: str
) -> None:
    with pytest.raises(DataError, match="has no text column that can be recognised") as caught:
        documents(written(tmp_path / name, content))
    assert caught.value.found == found
    assert "--text-column" in str(caught.value)


def test_a_named_column_that_is_not_there(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", "text,label\nbon,1\n")
    with pytest.raises(DataError, match="has no column 'message'") as caught:
        documents(source, text_column="message")
    assert "text, label" in str(caught.value)


def test_many_columns_are_not_all_listed(tmp_path: Path) -> None:
    names = [f"column{number}" for number in range(40)]
    with pytest.raises(DataError) as caught:
        documents(written(tmp_path / "a.csv", ",".join(names)))
    assert str(caught.value.found).endswith("column11 and 28 more")


def test_csv_keeps_commas_quotes_and_line_ends_in_quotes(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", 'text,label\r\n"a, ""b""\r\nc",1\r\nd "e" f,2\r\n')
    assert documents(source) == ['a, "b"\nc', 'd "e" f']


def test_csv_fields_may_be_long(tmp_path: Path) -> None:
    word = "mot " * 50_000
    assert documents(written(tmp_path / "a.csv", f"text,label\n{word},1\n")) == [word]


@pytest.mark.parametrize(
    ("content", "line"),
    [('text,label\nbon,1\n"jamais fermé,2\nx,3\n', 3), ('text\n"il dit "non" ici"\n', 2)],
)
def test_csv_with_broken_quotes_is_refused(tmp_path: Path, content: str, line: int) -> None:
    with pytest.raises(DataError, match=rf"is not valid \.csv: .* begins on line {line}") as caught:
        documents(written(tmp_path / "a.csv", content))
    assert "doubled" in str(caught.value)


def test_a_quote_never_closed_does_not_swallow_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greffe.data.rows.LONGEST_RECORD", 1 << 20)
    source = written(tmp_path / "a.csv", 'text,label\n"' + "bon,1\n" * 300_000)
    with pytest.raises(DataError, match=r"Line 2 of .*a\.csv begins a row of more than"):
        documents(source)


def test_rows_of_another_width_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Line 3 of .*a\.csv has another number of cells") as error:
        documents(written(tmp_path / "a.csv", "text,label\nbon,1\nbon, ou presque,1\n"))
    assert error.value.expected == "2 cells" and error.value.found == "3 cells"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "cut', "Line 3 of .* is not JSON"),
        ("[1, 2]", "Line 3 of .* is neither a JSON object nor a JSON string"),
        ('{"other": "x"}', "Line 3 of .* has no 'text'"),
        ('{"text": ["x"]}', "Line 3 of .*: the text is a list"),
        ('{"text": "\\ud83d"}', "Line 3 of .* holds half of a character"),
        ("[" * 100_000, "Line 3 of .* is not JSON"),
    ],
)
def test_bad_json_lines_are_refused_by_number(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        documents(written(tmp_path / "a.jsonl", f'{{"text": "bon"}}\n\n{line}\n'))


def test_json_escapes_of_whole_characters_are_read(tmp_path: Path) -> None:
    assert documents(written(tmp_path / "a.jsonl", '{"text": "\\ud83d\\ude42"}')) == ["🙂"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_a_table_of_blanks_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="holds no rows"):
        documents(written(tmp_path / name, "\n\n\n"))


# --- long documents -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a.jsonl"])
def test_long_documents_come_in_parts_and_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    long = "Un café très bleu. " * 150_000  # about 3 MB
    line = json.dumps(long) if name == "a.jsonl" else long
    source = written(tmp_path / name, f"{line}\n{line}")
    parts = documents(source)
    assert "".join(parts) == long * 2
    assert len(parts) == 8
    assert all(len(part.encode()) <= LONG_DOCUMENT and part.endswith(" ") for part in parts)
    assert "2 documents longer than 1 MiB cut into parts" in capsys.readouterr().err
    documents(source)
    assert capsys.readouterr().err == "", "said once a source, not at every reading"


@pytest.mark.parametrize("kind", ["paragraph", "file"])
def test_long_groups_of_lines_are_cut_at_line_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: Documents
) -> None:
    lines = [f"ligne {number}" for number in range(200_000)]
    parts = documents(written(tmp_path / "a.txt", "\n".join(lines)), documents=kind)
    assert "\n".join(parts).split("\n") == lines
    assert len(parts) == 3
    assert "1 document longer than 1 MiB" in capsys.readouterr().err


def test_a_long_line_inside_a_file_document(tmp_path: Path) -> None:
    long = "é" * LONG_DOCUMENT  # two bytes each, no space
    parts = documents(written(tmp_path / "a.txt", f"avant\n{long}\naprès\n"), documents="file")
    assert "\n".join(parts).replace("\n", "") == f"avant{long}après"
    assert all(len(part.encode()) <= LONG_DOCUMENT for part in parts)


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [*(("line", suffix) for suffix in COMPRESS), ("paragraph", ""), ("file", "")],
)
def test_memory_stays_bounded_on_one_huge_line(
    tmp_path: Path, kind: Documents, suffix: str
) -> None:
    megabytes = 64
    data = b"Le chat dort sur un tapis bleu. " * (megabytes << 15)
    source = written(tmp_path / f"a.txt{suffix}", COMPRESS[suffix](data))
    del data
    tracemalloc.start()
    try:
        total = sum(len(part) for part in read_documents(source, ReadOptions(documents=kind)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == megabytes << 20
    assert peak < 16 << 20


# --- hf: ----------------------------------------------------------------------------------------


def test_a_local_dataset_folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for split, texts in (("train", REVIEWS), ("test", ["autre"])):
        table = pyarrow.table({"id": list(range(len(texts))), "text": texts})
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


def test_a_folder_that_the_datasets_library_saved(tmp_path: Path) -> None:
    from datasets import Dataset, DatasetDict

    data = Dataset.from_dict({"text": REVIEWS})
    data.save_to_disk(tmp_path / "one")
    assert documents(f"hf:{tmp_path}/one") == REVIEWS
    DatasetDict({"small": data, "large": data}).save_to_disk(tmp_path / "two")
    assert documents(f"hf:{tmp_path}/two:large") == REVIEWS
    with pytest.raises(DataError, match=r"two: which split\?") as caught:
        documents(f"hf:{tmp_path}/two")
    assert "small, large" in str(caught.value)


def test_a_dataset_that_is_not_there_or_damaged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="missing cannot be read") as caught:
        documents(f"hf:{tmp_path}/missing")
    assert "FileNotFoundError" in str(caught.value)
    written(tmp_path / "train.parquet", "PAR1 but nothing more")
    with pytest.raises(DataError, match="cannot be read"):
        documents(f"hf:{tmp_path}")


def test_datasets_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match="'datasets', which is not installed") as caught:
        documents("hf:owner/name")
    assert "greffe[hub]" in str(caught.value)
