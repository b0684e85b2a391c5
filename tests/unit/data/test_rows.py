"""Tables in lines of text, read for their texts: .csv, .tsv, .jsonl, and pairs of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.data.reading import documents, examples, texts, written

from greffe.data import files
from greffe.data.tables import Example
from greffe.errors import DataError

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
        ("a.tsv", "1\t2\tbon\n", "3 columns in the first row, which is not a header: 1, 2, bon"),
        ("a.jsonl", '{"id": 1, "message": "x"}\n', "2 columns in the header: id, message"),
    ],
)
def test_a_table_without_text_says_which_columns_there_are(
    tmp_path: Path, name: str, content: str, found: str
) -> None:
    with pytest.raises(DataError, match="no recognizable text column") as caught:
        documents(written(tmp_path / name, content))
    assert caught.value.found == found
    assert "--text-column" in str(caught.value)


SENTENCES = ["Un livre magnifique, à lire.", "Déçu : à éviter !", "Je ne sais pas. Bof."]
REFUSED_HEADER, REFUSED_ORDER = "may be a header", "first column seems to hold the texts"


@pytest.mark.parametrize(
    ("name", "header", "rows", "outcome"),
    [
        # One column: a known name is a header, everything else is a text.
        ("a.csv", "Avis\n", '"{}"\n', SENTENCES),
        ("a.csv", "", '"{}"\n', SENTENCES),
        ("a.tsv", "", "{}\n", SENTENCES),
        ("a.tsv", "message\n", "{}\n", ["message", *SENTENCES]),
        # Two columns: one known name makes a header; without a header, the label comes first.
        ("a.csv", "comment,stars\n", '"{}",1\n', SENTENCES),
        ("a.tsv", "stars\tmessage\n", "1\t{}\n", "no recognizable text column"),
        ("a.tsv", "", "1\t{}\n", SENTENCES),
        ("a.tsv", "", "pos\t{}\n", SENTENCES),
        ("a.tsv", "pos\tbon\n", "pos\t{}\n", ["bon", *SENTENCES]),
        ("a.tsv", "pos\tbon\n", "neg\tmal\n", ["bon", "mal", "mal", "mal"]),
        # Two columns that could be read in two ways.
        ("a.csv", "message,score\n", '"{}",1\n', REFUSED_HEADER),
        ("a.csv", "score,Review text\n", '1,"{}"\n', REFUSED_HEADER),
        ("a.tsv", "score\tmessage\n", "1\t{}\n", REFUSED_HEADER),
        ("a.csv", "message;score\n", "{};1\n", REFUSED_HEADER),
        ("a.csv", "message\tscore\n", "{}\t1\n", REFUSED_HEADER),
        ("a.csv", "message,score\n", "", REFUSED_HEADER),
        ("a.csv", "", '"{}",pos\n', REFUSED_ORDER),
        ("a.tsv", "", "{}\tpos\n", REFUSED_ORDER),
        # More columns need a header with a known name.
        ("a.tsv", "id\ttext\tscore\n", "1\t{}\t2\n", SENTENCES),
        ("a.tsv", "id\tmessage\tscore\n", "1\t{}\t2\n", "no recognizable text column"),
        ("a.tsv", "", "1\t{}\t2\n", "no recognizable text column"),
        # Objects always have names.
        ("a.jsonl", "", '"{}"\n', SENTENCES),
        ("a.jsonl", "", '{{"text": "{}"}}\n', SENTENCES),
        ("a.jsonl", "", '{{"message": "{}"}}\n', "no recognizable text column"),
        ("a.jsonl", "", '{{"stars": 1, "comment": "{}"}}\n', SENTENCES),
        ("a.jsonl", "", '{{"score": 1, "message": "{}"}}\n', "no recognizable text column"),
    ],
)
def test_which_column_is_read(
    tmp_path: Path, name: str, header: str, rows: str, outcome: list[str] | str
) -> None:
    source = written(tmp_path / name, header + "".join(rows.format(text) for text in SENTENCES))
    if isinstance(outcome, list):
        assert texts(source) == outcome
        return
    with pytest.raises(DataError, match=outcome) as caught:
        texts(source)
    if "message" in header or "message" in rows:
        assert "message" in str(caught.value.found), "the names that were found"
        assert "--text-column NAME" in str(caught.value.hint)
        assert texts(source, text_column="message") == (SENTENCES if rows else [])


def test_a_single_word_above_one_column_of_texts_is_mentioned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts(written(tmp_path / "a.csv", "message\nUn livre ! À lire.\n"))
    assert "the first row is read as a text: 'message'" in capsys.readouterr().err
    for content in ("bon\nmal\n", "Un livre !\nbon\n", "text\nUn livre !\n"):
        texts(written(tmp_path / "b.csv", content))
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "text,label,text\nbon,1,mal\n"),
        ("a.tsv", "text\tlabel\tText\nbon\t1\tmal\n"),
        ("a.csv", "label,text,label\n1,bon,1\n"),
    ],
)
def test_a_name_that_several_columns_have_is_refused_with_their_positions(
    tmp_path: Path, name: str, content: str
) -> None:
    with pytest.raises(DataError, match=r"has 2 columns named") as caught:
        examples(written(tmp_path / name, content))
    assert caught.value.found == "columns 1 and 3"


def test_a_repeated_name_that_is_not_used_is_a_notice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert texts(written(tmp_path / "a.csv", "id,text,id,,\n1,bon,2,,\n")) == ["bon"]
    assert "same name: id\n" in capsys.readouterr().err


def test_one_column_cannot_be_text_and_label(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", "text,label\nbon,1\n")
    with pytest.raises(DataError, match="cannot be text and label"):
        examples(source, text_column="text", label_column="text")


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


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_row_of_very_many_cells_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, is_first: bool
) -> None:
    monkeypatch.setattr(files, "MOST_CELLS", 10)
    separator = "," if suffix == "csv" else "\t"
    good, bad = separator.join(["label", "text"]), separator.join("abcdefghijk")
    rows = [bad, good] if is_first else [good, separator.join("ab"), bad]
    source = written(tmp_path / f"a.{suffix}", "\n".join(rows).encode())
    with pytest.raises(DataError, match=f"line {1 if is_first else 3} .*too many cells"):
        examples(source)


def test_the_first_cell_may_be_long(tmp_path: Path) -> None:
    word = "mot " * 50_000
    assert documents(written(tmp_path / "a.csv", f"{word}\nbon\n")) == [word, "bon"]


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
    monkeypatch.setattr("greffe.data.csv_records.LONGEST_RECORD", 1 << 20)
    source = written(tmp_path / "a.csv", 'text,label\n"' + "bon,1\n" * 300_000)
    with pytest.raises(DataError, match=r"line 2 of .*a\.csv exceeds"):
        documents(source)


def test_rows_of_another_width_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Line 3 of .*a\.csv does not have as many cells") as error:
        documents(written(tmp_path / "a.csv", "text,label\nbon,1\nbon, ou presque,1\n"))
    assert error.value.expected == "2 cells" and error.value.found == "3 cells"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "cut', "Line 3 of .* is not JSON"),
        ("[1, 2]", "Line 3 of .* is neither a JSON object nor a JSON string"),
        ('{"other": "x"}', "Line 3 of .* has no 'text'"),
        ('{"text": ["x"]}', "Line 3 of .*: the text is a list"),
        ('{"text": "\\ud83d"}', "Line 3 of .* contains a lone surrogate"),
        ("[" * 100_000, "Line 3 of .* is not JSON"),
        ('{"text": "a", "more": ' + "[" * 500 + "]" * 500 + "}", "Line 3 .*\n.*\n.*nested deeper"),
        ('{"text": ' + "1" * 5000 + "}", "Line 3 .*\n.*\n.*thousands of digits"),
        ('{"text": 1e999}', "Line 3 .* the text is an infinite number"),
        ('{"text": "a", "b": -Infinity}', "Line 3 .*\n.*\n.*Infinity is not JSON"),
        ('{"text": "a", "b": {"c": 1, "c": 2}}', "Line 3 .*\n.*\n.*'c' occurs twice"),
    ],
)
def test_bad_json_lines_are_refused_by_number(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        documents(written(tmp_path / "a.jsonl", f'{{"text": "bon"}}\n\n{line}\n'))


def test_nan_is_a_missing_value(tmp_path: Path) -> None:
    lines = '{"text": "bon", "stars": NaN}\n{"text": NaN, "stars": 1}\n'
    assert documents(written(tmp_path / "a.jsonl", lines)) == ["bon"]


def test_json_escapes_of_whole_characters_are_read(tmp_path: Path) -> None:
    assert documents(written(tmp_path / "a.jsonl", '{"text": "\\ud83d\\ude42"}')) == ["🙂"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_a_table_of_blanks_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="has no rows"):
        documents(written(tmp_path / name, "\n\n\n"))


# --- the lab's pairs ------------------------------------------------------------------------------


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    written(tmp_path / "train.review.spm", "▁Que ▁faire ?\n\n▁Beau , ▁très ▁beau .\n")
    written(tmp_path / "train.label", "1\n0\n1\n")
    return tmp_path / "train"


@pytest.mark.parametrize("suffix", ["", ".review.spm", ".label"])
def test_a_pair_by_either_file_or_their_stem(pair: Path, suffix: str) -> None:
    expected = [Example("Que faire?", "1"), Example("", "0"), Example("Beau, très beau.", "1")]
    assert examples(f"{pair}{suffix}") == expected
    assert texts(f"{pair}{suffix}") == [example.text for example in expected]


def test_a_pair_with_other_counts_is_refused(pair: Path) -> None:
    written(Path(f"{pair}.label"), "1\n0\n")
    with pytest.raises(DataError, match="different numbers of lines") as caught:
        examples(pair)
    assert caught.value.found == "3 reviews and 2 labels"


def test_a_pair_with_a_blank_or_no_label_file_is_refused(pair: Path) -> None:
    labels = written(Path(f"{pair}.label"), "1\n\n0\n")
    with pytest.raises(DataError, match=r"Line 2 of .*train has no label"):
        examples(pair)
    Path(labels).unlink()
    with pytest.raises(DataError, match=r"train\.label cannot be read"):
        examples(f"{pair}.review.spm")
    assert len(texts(f"{pair}.review.spm")) == 3, "texts alone need no labels"
