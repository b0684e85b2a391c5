"""greffe predict: formats, standard input, files, columns, notices."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

Command = Callable[..., Any]


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """Four texts with numbers, one of them a row that cannot be read."""
    path = tmp_path / "reviews.jsonl"
    rows = [{"n": number, "text": f"livre {number}", "w": None} for number in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def damaged(reviews: Path) -> Path:
    path = reviews.with_name("damaged.jsonl")
    path.write_text(reviews.read_text("utf-8").replace('"n": 2', '"n": oops'), "utf-8")
    return path


def test_predict_reads_standard_input(
    command: Command, classifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"un\ndeux\n")))
    outcome = command("predict", classifier, "--format", "jsonl")
    assert [set(json.loads(line)) for line in outcome.out.splitlines()] == [
        {"label", "score", "probabilities"}
    ] * 2


def test_predict_without_standard_input_is_an_error(
    command: Command, classifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = io.TextIOWrapper(io.BytesIO())
    closed.close()
    for stdin in (None, closed):
        monkeypatch.setattr("sys.stdin", stdin)
        outcome = command("predict", classifier)
        assert outcome.code == 2
        assert "no standard input" in outcome.err


def test_many_predictions_are_several_tables(
    command: Command, classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greffe.cli.predict_command.TABLE_ROWS", 3)
    monkeypatch.setattr("greffe.data.tables.BLOCK_TEXTS", 2)
    texts = [f"livre {number}" for number in range(8)]
    (tmp_path / "a.txt").write_text("\n".join(texts), "utf-8")
    shown = command("predict", classifier, "--input", tmp_path / "a.txt").out
    assert shown.count("label") == 3
    assert [line for line in texts if line in shown] == texts


def test_predict_as_csv_and_table(command: Command, classifier: Path) -> None:
    outcome = command("predict", classifier, "un livre", "autre", "--format", "csv")
    header, *rows = csv.reader(io.StringIO(outcome.out))
    assert header == ["label", "score", "négatif", "positif"]
    assert len(rows) == 2
    assert float(rows[0][2]) + float(rows[0][3]) == pytest.approx(1)
    assert "un livre" in command("predict", classifier, "un livre").out


def test_predict_prints_a_notice_about_cut_texts(command: Command, classifier: Path) -> None:
    words = ("predict", classifier, "livre " * 100 + "beau " * 100, "--format", "jsonl")
    windows, cut = command(*words), command(*words, "--long", "cut")
    assert "cut" not in windows.err
    assert "1 text was longer" in cut.err
    assert json.loads(cut.out)["score"] != json.loads(windows.out)["score"]


@pytest.mark.parametrize("texts", [(), ("un livre",)])
def test_an_empty_input_is_not_standard_input(
    command: Command, classifier: Path, monkeypatch: pytest.MonkeyPatch, texts: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"un\ndeux\n")))
    outcome = command("predict", classifier, *texts, "--input", "")
    assert outcome.code == 2 and outcome.out == ""


# --- columns, files, scores -----------------------------------------------------------------------


def test_columns_are_kept_in_every_format(
    command: Command, classifier: Path, reviews: Path, tmp_path: Path
) -> None:
    words = ("predict", classifier, "--input", reviews, "--id-column", "n", "--keep", "w")
    lines = [json.loads(line) for line in command(*words, "--format", "jsonl").out.splitlines()]
    assert [(row["n"], row["w"]) for row in lines] == [(number, None) for number in range(4)]
    assert [*lines[0]] == ["n", "w", "label", "score", "probabilities"]
    header, *rows = csv.reader(io.StringIO(command(*words, "--format", "csv").out))
    assert header == ["n", "w", "label", "score", "négatif", "positif"]
    assert [row[:3] for row in rows] == [[str(row["n"]), "", row["label"]] for row in lines]
    shown = command(*words).out
    assert shown.split()[:4] == ["n", "w", "label", "text"] and "livre 3" in shown
    assert command(*words, "--out", tmp_path / "a.parquet").code == 0
    table = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert table.column("n").to_pylist() == [0, 1, 2, 3]
    assert table.column("score").to_pylist() == [row["score"] for row in lines]


def test_a_file_holds_what_would_be_printed(
    command: Command, classifier: Path, reviews: Path, tmp_path: Path
) -> None:
    words = ("predict", classifier, "--input", reviews)
    for name, format_ in (("a.csv", "csv"), ("b/a.jsonl", "jsonl"), ("a.txt", "table")):
        out = tmp_path / name
        given = ("--format", format_) if format_ == "table" else ()
        written = command(*words, *given, "--out", out)
        assert (written.code, written.out) == (0, "")
        assert out.read_text("utf-8") == command(*words, "--format", format_).out
    again = command(*words, "--out", tmp_path / "a.csv")
    assert again.code == 3 and "--overwrite" in again.err
    assert command(*words, "--out", tmp_path / "a.csv", "--overwrite").code == 0
    assert command(*words, "--out", reviews, "--overwrite").code == 2


@pytest.mark.parametrize("problem", ["error", "Ctrl-C"])
def test_what_was_there_stays_if_the_file_is_not_completed(
    command: Command,
    classifier: Path,
    damaged: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    problem: str,
) -> None:
    monkeypatch.setattr("greffe.data.tables.BLOCK_TEXTS", 1)
    if problem == "Ctrl-C":
        from greffe.inference import labelling

        def interrupted(*given: Any) -> Iterator[Any]:
            yield next(labelling_of(*given))
            raise KeyboardInterrupt

        labelling_of = labelling._labelled
        monkeypatch.setattr(labelling, "_labelled", interrupted)
    names = {path.name for path in tmp_path.iterdir()} | {"old.csv"}
    (tmp_path / "old.csv").write_text("old")
    for out in ("old.csv", "new.csv"):
        words = ("predict", classifier, "--input", damaged, "--out", tmp_path / out, "--overwrite")
        outcome = command(*words)
        assert outcome.code == (130 if problem == "Ctrl-C" else 2)
        assert ("was not written" if problem == "Ctrl-C" else "Line 3") in outcome.err
    assert (tmp_path / "old.csv").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == names


def test_bad_rows_are_skipped_if_asked_for(
    command: Command, classifier: Path, damaged: Path
) -> None:
    words = ("predict", classifier, "--input", damaged, "--id-column", "n", "--format", "jsonl")
    refused = command(*words)
    assert refused.code == 2 and f"Line 3 of {damaged}" in refused.err
    outcome = command(*words, "--skip-bad-rows")
    assert outcome.code == 0
    assert [json.loads(line)["n"] for line in outcome.out.splitlines()] == [0, 1, 3]
    assert f"skipped: Line 3 of {damaged}" in outcome.err
    assert "skipped: 1 row that cannot be read" in outcome.err


def test_texts_with_a_low_score_get_no_label(
    command: Command, classifier: Path, reviews: Path
) -> None:
    words = ("predict", classifier, "--input", reviews, "--format")
    plain = [json.loads(line) for line in command(*words, "jsonl").out.splitlines()]
    limit = sorted(row["score"] for row in plain)[2]
    outcome = command(*words, "jsonl", "--min-score", limit)
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    below = [row["score"] < limit for row in plain]
    assert sum(below) == 2
    assert [row["label"] is None for row in rows] == below
    assert [row["probabilities"] for row in rows] == [row["probabilities"] for row in plain]
    assert "2 of 4 texts have no label" in outcome.err
    assert command(*words, "csv", "--min-score", limit).out.count("\n,0.") == 2
    assert command(*words, "table", "--min-score", limit).out.count(" – ") == 2
    assert command(*words, "csv", "--min-score", "1.5").code == 2


def test_speed_is_said_about_files_and_not_about_a_few_texts(
    command: Command, classifier: Path, reviews: Path
) -> None:
    assert "ms per text" not in command("predict", classifier, "un livre").err
    words = ("predict", classifier, "--input", reviews)
    last = command(*words).err.splitlines()[-1]
    assert last.startswith("4 texts in ") and "texts/s, " in last and last.endswith("ms per text")


def test_calibrated_probabilities(command: Command, classifier: Path, table: Path) -> None:
    words = ("predict", classifier, "un livre", "--format", "jsonl")
    refused = command(*words, "--calibrated")
    assert (refused.code, refused.out) == (3, "") and "greffe calibrate" in refused.err
    plain = command(*words).out
    command("calibrate", classifier, "--data", table)
    assert command(*words).out == plain
    scaled = json.loads(command(*words, "--calibrated").out)
    assert scaled["label"] == json.loads(plain)["label"]
    assert scaled["score"] != pytest.approx(json.loads(plain)["score"], rel=1e-3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("text", "--id-column", "n"), "rows of a file"),
        (("text", "--skip-bad-rows"), "rows of a file"),
        (("text", "--format", "parquet"), "--out FILE"),
        (("text", "--out", "a.xyz"), "does not say which format"),
        (("--input", "IN", "--keep", "nothing"), "no column 'nothing'"),
        (("--input", "IN", "--keep", "n", "--id-column", "label"), "no column 'label'"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_printed(
    command: Command, classifier: Path, reviews: Path, words: tuple[str, ...], message: str
) -> None:
    given = [reviews if word == "IN" else word for word in words]
    outcome = command("predict", classifier, *given)
    assert (outcome.code, outcome.out) == (2, "") and message in outcome.err
