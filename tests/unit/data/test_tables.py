"""Labelled tables, texts to predict, the order of labels and the split."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from tests.unit.data.reading import examples, texts, written

from greffe.config.options import Reading
from greffe.data.tables import (
    Example,
    hold,
    label_order,
    read_examples,
    split_examples,
    text_blocks,
)
from greffe.errors import DataError

PAIRS = [Example("bon", "1"), Example("", "0"), Example("très, très bon", "1")]


# --- examples -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("headed.csv", 'Text,id,Label\nbon,7,1\n"",8,0\n"très, très bon",9,1\n'),
        ("french.csv", 'note,avis\n1,bon\n\n0,\n1,"très, très bon"\n'),
        ("accent.csv", 'ÉTIQUETTE,texte\n1,bon\n0,\n1,"très, très bon"\n'),
        ("decomposed.tsv", "e\u0301tiquette\ttexte\n1\tbon\n0\t\n1\ttrès, très bon\n"),
        ("headerless.csv", '1,bon\n0,\n1,"très, très bon"\n'),
        ("headerless.tsv", "1\tbon\n0\t\n 1 \ttrès, très bon"),
        ("semicolons.csv", "label;text\n1;bon\n0;\n1;très, très bon\n"),
        (
            "objects.jsonl",
            """{"label": 1, "text": "bon"}
            {"text": null, "label": 0}
            {"text": "très, très bon", "label": "1"}""",
        ),
    ],
)
def test_text_and_label_are_found(tmp_path: Path, name: str, content: str) -> None:
    assert examples(written(tmp_path / name, content)) == PAIRS


def test_columns_can_be_named(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", "text,Message,label,Mood\nx,bon,x,1\nx,mal,x,0\n")
    found = examples(source, text_column="Message", label_column="Mood")
    assert found == [Example("bon", "1"), Example("mal", "0")]
    taken = written(tmp_path / "b.csv", "label,class\nbon,1\nmal,0\n")
    assert examples(taken, text_column="label") == found, "one column is not text and label at once"


def test_tsv_quotes_are_text_unless_they_wrap_the_cell(tmp_path: Path) -> None:
    cells = {
        '"tout ""cité"" ici"': 'tout "cité" ici',
        '"Les matins" est beau': '"Les matins" est beau',
        '"un" et "deux"': '"un" et "deux"',
        'un "seul': 'un "seul',
        '"': '"',
        '""': "",
    }
    source = written(tmp_path / "a.tsv", "".join(f"1\t{cell}\n" for cell in cells))
    assert [example.text for example in examples(source)] == list(cells.values())


def test_labels_that_are_not_words_are_written_as_they_are(tmp_path: Path) -> None:
    for values, names in (
        ([1.0, 2.5], ["1", "2.5"]),
        ([True, False], ["True", "False"]),
        ([3, -1], ["3", "-1"]),
    ):
        table = pyarrow.table({"text": ["a", "b"], "label": values})
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        assert [example.label for example in examples(tmp_path / "a.parquet")] == names
        lines = "".join(json.dumps({"text": "a", "label": value}) + "\n" for value in values)
        source = written(tmp_path / "a.jsonl", lines)
        assert [example.label for example in examples(source)] == names


@pytest.mark.parametrize(
    ("name", "content", "location"),
    [
        ("a.csv", "text,label\nbon,1\nmal,\n", "Line 3 of"),
        ("b.csv", 'text,label\n"bon\nbon",1\nmal," "\n', "Line 4 of"),
        ("a.tsv", "1\tbon\n\tmal\n", "Line 2 of"),
        ("a.jsonl", '{"text": "x", "label": 1}\n{"text": "y", "label": null}\n', "Line 2 of"),
    ],
)
def test_a_row_without_a_label_is_refused_by_number(
    tmp_path: Path, name: str, content: str, location: str
) -> None:
    with pytest.raises(DataError, match=rf"{location} .*{name} has no label"):
        examples(written(tmp_path / name, content))


def test_a_missing_label_in_parquet_is_refused_by_number(tmp_path: Path) -> None:
    for values in ([1, None], [1.0, float("nan")]):
        table = pyarrow.table({"text": ["a", "b"], "label": values})
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(DataError, match=r"Row 2 of .*a\.parquet has no label"):
            examples(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("name", "content", "missing", "found"),
    [
        ("a.csv", "text,mood\nbon,1\n", "label", "2 columns in the header: text, mood"),
        ("a.csv", "label,message\n1,bon\n", "text", "label, message"),
        ("a.tsv", "bon\nmal\n", "label", "1 column in the first row"),
        ("a.tsv", "1\ta\tbon\n", "text", "3 columns in the first row"),
        ("a.jsonl", '"bon"\n', "label", "1 column in the first row"),
        ("a.jsonl", '{"text": "bon"}\n', "label", "1 column in the header: text"),
    ],
)
def test_missing_columns_are_refused_with_those_there_are(
    tmp_path: Path, name: str, content: str, missing: str, found: str
) -> None:
    with pytest.raises(DataError, match=f"no recognizable {missing} column") as caught:
        examples(written(tmp_path / name, content))
    assert found in str(caught.value.found)
    assert f"--{missing}-column" in str(caught.value.hint)


def test_a_named_label_column_that_is_not_there(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", "text,label\nbon,1\n")
    with pytest.raises(DataError, match="has no column 'mood'") as caught:
        examples(source, label_column="mood")
    assert "text, label" in str(caught.value)


def test_json_rows_that_change_shape_are_refused(tmp_path: Path) -> None:
    first = '{"text": "bon", "label": 1}\n'
    with pytest.raises(DataError, match=r"Line 2 of .* has no 'label'") as caught:
        examples(written(tmp_path / "a.jsonl", first + '{"text": "mal", "id": 3}\n'))
    assert caught.value.found == "text, id"
    with pytest.raises(DataError, match=r"Line 2 of .* has no 'label'") as caught:
        examples(written(tmp_path / "a.jsonl", first + '"label text"\n'))
    assert caught.value.found == "only a string"
    with pytest.raises(DataError, match="the label is a list"):
        examples(written(tmp_path / "a.jsonl", '{"text": "bon", "label": [1]}\n'))


def test_plain_text_is_not_a_labelled_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a table with labels") as caught:
        examples(written(tmp_path / "a.txt", "1\tbon\n"))
    assert ".tsv" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["no.tsv", "no.csv", "no.jsonl", "no.parquet", "no.txt"])
def test_missing_and_empty_files_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        texts(tmp_path / name)
    with pytest.raises(DataError, match="is empty"):
        texts(written(tmp_path / name, ""))


# --- texts to predict -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "bon\n\n  \nmal\n"),
        ("a.tsv", "1\tbon\n\n0\t  \n0\tmal\n"),
        ("one.tsv", "bon\n\n  \nmal\n"),
        ("a.csv", "id,text\n1,bon\n2,\n3,  \n4,mal\n"),
        ("one.csv", 'text\nbon\n""\n  \nmal\n'),
        ("a.jsonl", '{"text": "bon"}\n\n{"text": "  "}\n"mal"\n'),
    ],
)
def test_every_text_is_kept_in_order(tmp_path: Path, name: str, content: str) -> None:
    assert texts(written(tmp_path / name, content)) == ["bon", "", "  ", "mal"]


def test_texts_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("é\n\nb".encode())))
    assert texts("-") == ["é", "", "b"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("é\n".encode("latin-1"))))
    with pytest.raises(DataError, match="- is not UTF-8"):
        texts("-")


def test_a_long_text_is_one_text(tmp_path: Path) -> None:
    long = "mot " * 1_300_000  # 5 MB
    assert texts(written(tmp_path / "a.txt", long)) == [long]


# --- bounded memory -------------------------------------------------------------------------------


def test_blocks_are_bounded_in_texts_and_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greffe.data.tables.BLOCK_TEXTS", 3)
    monkeypatch.setattr("greffe.data.tables.BLOCK_CHARACTERS", 10)
    assert list(text_blocks(["a", "b", "c", "d", "e" * 9, "f" * 20, "g"])) == [
        *(["a", "b", "c"], ["d", "e" * 9], ["f" * 20], ["g"])
    ]
    assert list(text_blocks([])) == []
    with pytest.raises(DataError, match="Text 2 is not text") as caught:
        list(text_blocks(["a", 3]))  # type: ignore[list-item]
    assert caught.value.found == "int: 3"


def test_a_text_that_is_too_long_to_classify_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greffe.data.tables.LONGEST_TEXT", 20)
    source = written(tmp_path / "a.tsv", f"1\t{'x' * 20}\n0\t{'x' * 21}\n")
    with pytest.raises(DataError, match=r"Line 2 of .*a\.tsv: the text has 21 characters"):
        examples(source)
    assert len(texts(source)) == 2, "documents may be of any length"
    with pytest.raises(DataError, match="Text 2 has 21 characters"):
        list(text_blocks(texts(source)))


def test_a_labelled_table_is_held_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greffe.data.tables.LARGEST_TABLE", 1 << 20)
    taken = 0

    def endless(text: str) -> Iterator[Example]:
        nonlocal taken
        for number in count(1):
            taken = number
            yield Example(text, "1")

    for text, most in (("x" * 10_000, 110), ("", 6000), ("🙂" * 2500, 110)):
        with pytest.raises(DataError, match=r"a\.tsv has too many labelled texts"):
            hold(endless(text), "a.tsv")
        assert taken < most
    few = [Example("a", "1")] * 3
    assert hold(iter(few), "a.tsv") == few


@pytest.mark.parametrize("suffix", ["gz", "xz", "zst"])
def test_a_compressed_table_that_expands_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    pack = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstandard.compress}[suffix]
    monkeypatch.setattr("greffe.data.tables.LARGEST_TABLE", 1 << 20)
    many = written(tmp_path / f"a.tsv.{suffix}", pack(b"1\tbon livre\n0\tbof !\n" * 200_000))
    with pytest.raises(DataError, match="too many labelled texts"):
        hold(read_examples(many, Reading()), many)
    monkeypatch.setattr("greffe.data.files.LONGEST_RECORD", 1 << 20)
    line = written(tmp_path / f"b.tsv.{suffix}", pack(b"1\tbon\n1\t" + b"x" * (3 << 20)))
    for read in (examples, texts):
        with pytest.raises(DataError, match=r"line 2 of .* exceeds 1 MiB"):
            read(line)


# --- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["10", "9", "1.5", "-3", "9"], ["-3", "1.5", "9", "10"]),
        (["neg", "pos", "10", "9"], ["10", "9", "neg", "pos"]),
        (["1", "nan"], ["1", "nan"]),
        (["1.0", "1"], ["1", "1.0"]),
        (["b", "É", "a"], ["a", "b", "É"]),
    ],
)
def test_order_of_labels(labels: list[str], order: list[str]) -> None:
    assert label_order(labels) == order
    assert label_order(reversed(labels)) == order


def test_fewer_than_two_classes_are_refused() -> None:
    with pytest.raises(DataError, match="at least two classes") as caught:
        label_order(["pos", "pos"])
    assert caught.value.found == "only 'pos'"
    with pytest.raises(DataError) as caught:
        label_order([])
    assert caught.value.found == "no labelled text"


# --- split ----------------------------------------------------------------------------------------


def many(counts: dict[str, int]) -> list[Example]:
    return [Example(f"{label} {n}", label) for label, count in counts.items() for n in range(count)]


def test_split_is_a_stratified_partition_in_order() -> None:
    data = many({"a": 200, "b": 50, "c": 4, "d": 1})
    kept, held = split_examples(data, 0.1, seed=3)
    assert Counter(example.label for example in held) == {"a": 20, "b": 5, "c": 1}
    assert kept == [example for example in data if example not in held]
    assert held == [example for example in data if example in held]


def test_split_depends_on_texts_and_seed_alone() -> None:
    data = many({"a": 60, "b": 40})
    shuffled = random.Random(0).sample(data, len(data))
    assert set(split_examples(data, 0.2, 1)[1]) == set(split_examples(shuffled, 0.2, 1)[1])
    assert split_examples(data, 0.2, 1) == split_examples(data, 0.2, 1)
    assert split_examples(data, 0.2, 1) != split_examples(data, 0.2, 2)


def test_small_classes_are_on_both_sides() -> None:
    for fraction in (0.01, 0.5, 0.99):
        kept, held = split_examples(many({"a": 2, "b": 3, "c": 100}), fraction, 0)
        assert {e.label for e in kept} == {e.label for e in held} == {"a", "b", "c"}


def test_identical_texts_stay_on_one_side() -> None:
    data = many({"a": 30, "b": 30}) * 3 + [Example("a 0", "b")] + [Example("seul", "c")] * 5
    data += [Example("x", "d")] * 9 + [Example("y", "d")] * 7
    kept, held = split_examples(data, 0.2, 5)
    assert not {e.text for e in kept} & {e.text for e in held}
    assert len(kept) + len(held) == len(data)
    assert Counter(e.label for e in held)["a"] == pytest.approx(18, abs=3)
    assert {e.label for e in held} == {"a", "b", "d"}, "a class of one text stays whole"
    assert Counter(e.label for e in held)["d"] == 7, "the smaller of two groups is held out"


def test_a_fraction_outside_zero_and_one_is_refused() -> None:
    for fraction in (0.0, 1.0, -1.0):
        with pytest.raises(DataError, match="between 0 and 1"):
            split_examples(many({"a": 5, "b": 5}), fraction, 0)


def test_groups_stay_on_one_side() -> None:
    data = many({"a": 60, "b": 60})
    groups = [number // 3 for number in range(len(data))]
    kept, held = split_examples(data, 0.2, 5, groups)
    assert kept + held != data
    assert sorted(kept + held, key=data.index) == data
    sides = [{groups[data.index(example)] for example in side} for side in (kept, held)]
    assert not sides[0] & sides[1]
    assert Counter(example.label for example in held) == {"a": 12, "b": 12}


def test_groups_are_held_out_whatever_their_numbers_and_order() -> None:
    data = many({"a": 30, "b": 30})
    groups = [number // 2 for number in range(len(data))]
    expected = set(split_examples(data, 0.2, 1, groups)[1])
    renamed = [1000 - 7 * group for group in groups]
    order = random.Random(0).sample(range(len(data)), len(data))
    shuffled = split_examples([data[i] for i in order], 0.2, 1, [renamed[i] for i in order])
    assert set(shuffled[1]) == expected


def test_groups_of_one_change_nothing() -> None:
    data = many({"a": 30, "b": 30})
    assert split_examples(data, 0.2, 1, range(60)) == split_examples(data, 0.2, 1)


def test_a_class_of_one_group_stays_whole() -> None:
    data = many({"a": 9, "b": 9})
    kept, held = split_examples(data, 0.3, 0, [0] * 9 + list(range(1, 10)))
    assert {example.label for example in held} == {"b"}
    assert Counter(example.label for example in kept)["a"] == 9
