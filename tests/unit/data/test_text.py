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
from tests.unit.data.reading import documents, written

from greffe.config.options import Documents, Reading
from greffe.data.text import (
    LONG_DOCUMENT,
    check_readable,
    find_sources,
    read_documents,
    source_identity,
)
from greffe.errors import DataError

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lambda data: lzma.compress(data, preset=1),
    ".zst": zstandard.ZstdCompressor().compress,
}
REVIEWS = ["Un livre magnifique.", "Déçu, à éviter !"]


# --- sources ------------------------------------------------------------------------------------


def test_folders_are_searched_deeply_and_in_order(tmp_path: Path) -> None:
    expected = [
        written(tmp_path / name, "x")
        for name in ("a.txt", "z.jsonl.zst", "b/a.csv", "b/c/train.review.spm")
    ]
    for other in ("b/c/train.label", "image.png", "README", ".hidden.txt", ".git/x.txt"):
        written(tmp_path / other, "x")
    assert find_sources([tmp_path]) == expected


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


def test_patterns_match_as_in_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.txt", "deep/b.txt", "deep/er/c.txt", ".hidden/d.txt", "deep/.e.txt"):
        written(tmp_path / name, "x")
    monkeypatch.chdir(tmp_path)
    found = {
        "*.txt": ["a.txt"],
        "**/*.txt": ["a.txt", "deep/b.txt", "deep/er/c.txt"],
        "d??p/*.t[x]t": ["deep/b.txt"],
        "*/er/*": ["deep/er/c.txt"],
        ".h*/*.txt": [".hidden/d.txt"],
        "deep/**": ["deep/b.txt", "deep/er/c.txt"],
        "**/e*": ["deep/er/c.txt"],
    }
    assert {pattern: find_sources([pattern]) for pattern in found} == found


def test_patterns_that_repeat_and_folders_that_hold_themselves_take_no_time(tmp_path: Path) -> None:
    source = written(tmp_path / "a/b/c/d/e/f/g/h/i/j/deep.txt", "x")
    for name in ("one", "two"):
        (tmp_path / "a" / name).symlink_to(tmp_path / "a")
    assert find_sources([f"{tmp_path}/{'**/' * 40}deep.txt"]) == [source]
    for pattern in (f"{tmp_path}/**/zzz.txt", "*\0*.txt", "[" * 3000 + "]", "*\ud800*"):
        with pytest.raises(DataError, match="contains no readable files"):
            find_sources([pattern])


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
    assert "skipping 1 empty file" in capsys.readouterr().err


def test_a_folder_with_nothing_readable_says_what_is_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains no readable files") as caught:
        find_sources([tmp_path])
    assert caught.value.found == "no files"
    written(tmp_path / "photo.png", "x")
    written(tmp_path / "empty.txt", "")
    with pytest.raises(DataError) as caught:
        find_sources([tmp_path])
    assert caught.value.found == "2 files, 1 of them empty"
    assert ".txt .jsonl .csv .tsv .parquet" in str(caught.value)
    with pytest.raises(DataError, match="contains no readable files"):
        find_sources([f"{tmp_path}/*.csv"])


def test_an_unknown_suffix_and_no_input_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"notes\.docx has an unsupported format") as caught:
        find_sources([written(tmp_path / "notes.docx", "x")])
    assert ".parquet" in str(caught.value)
    with pytest.raises(DataError, match="No input was given"):
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


def test_no_heavy_library_is_loaded_with_the_module() -> None:
    code = (
        "import sys, greffe.data.text, greffe.data.tables\n"
        "print(sorted({'torch', 'pyarrow', 'datasets', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
    assert "2 documents longer than 1 MiB split into parts" in capsys.readouterr().err
    documents(source)
    assert capsys.readouterr().err == "", "printed once per source, not on every pass"


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
        total = sum(len(part) for part in read_documents(source, Reading(documents=kind)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == megabytes << 20
    assert peak < 16 << 20


def test_a_source_that_cannot_be_read_is_found_at_its_beginning(tmp_path: Path) -> None:
    good = written(tmp_path / "good.txt", "une ligne\n")
    for name, content in (
        ("columns.csv", "titre,prix,stock\nx,1,2\n"),
        ("latin.txt", "été\n".encode("latin-1")),
        ("damaged.txt.gz", b"no archive"),
    ):
        with pytest.raises(DataError, match=name):
            check_readable([good, written(tmp_path / name, content)], Reading())
    check_readable([good], Reading())
