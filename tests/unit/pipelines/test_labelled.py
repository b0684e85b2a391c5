"""Labelled texts as rows: short ones, and long ones cut or in windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from greffe.config.options import Reading, Tables
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.errors import DataError
from greffe.pipelines.labelled import LabelledParts, encode_rows, load_examples, load_parts

SHORT, CONTEXT = "un livre", 16


@pytest.fixture
def examples() -> list[Example]:
    return [Example(SHORT, "0"), Example(f"{SHORT} " * 30, "1"), Example(SHORT, "2")]


def parts(examples: list[Example]) -> LabelledParts:
    return LabelledParts(examples, [], ["0", "1", "2"])


def test_a_long_text_is_cut_with_a_notice(examples, tiny_tokenizer: Tokenizer, capsys) -> None:
    rows = encode_rows(parts(examples), tiny_tokenizer, CONTEXT, "cut")
    tokens = tiny_tokenizer.encode(examples[1].text)
    assert rows.targets.tolist() == [0, 1, 2]
    assert rows.ids[1].tolist() == tiny_tokenizer.wrap(tokens[: CONTEXT - 2]).tolist()
    shown = capsys.readouterr().err
    assert "1 of 3 texts are longer than the context, 16 tokens" in shown
    assert "their beginning" in shown


def test_windows_cover_a_long_text_and_have_its_label(
    examples, tiny_tokenizer: Tokenizer, capsys
) -> None:
    rows = encode_rows(parts(examples), tiny_tokenizer, CONTEXT, "windows")
    tokens = tiny_tokenizer.encode(examples[1].text)
    of_long = [ids for ids, label in zip(rows.ids, rows.targets, strict=True) if label == 1]
    assert len(of_long) == -(-len(tokens) // (CONTEXT - 2))
    assert np.concatenate([ids[1:-1] for ids in of_long]).tolist() == list(tokens)
    assert all(len(ids) <= CONTEXT for ids in rows.ids)
    assert rows.targets.tolist() == [0, *[1] * len(of_long), 2]
    assert f"in windows, {len(rows.ids)} rows in all" in capsys.readouterr().err


def test_texts_that_fit_print_no_notice(tiny_tokenizer: Tokenizer, capsys) -> None:
    rows = encode_rows(parts([Example(SHORT, "0")]), tiny_tokenizer, CONTEXT, "windows")
    assert rows.ids[0].tolist() == tiny_tokenizer.wrap(tiny_tokenizer.encode(SHORT)).tolist()
    assert capsys.readouterr().err == ""


def test_labels_from_python_are_words_or_numbers() -> None:
    pairs = [("a", "x"), ("b", 1), ("c", np.int64(2)), ["d", 0.5], Example("e", "y")]
    loaded = load_examples(pairs, Reading())
    assert [example.label for example in loaded] == ["x", "1", "2", "0.5", "y"]


@pytest.mark.parametrize(
    "item",
    [
        *(None, 3, "text", ("text",), ("text", "label", "more"), ("text", None), (None, "label")),
        *(("text", float("nan")), ("text", ["label"]), Example(3, "label"), ("\ud800", "label")),
    ],
)
def test_items_from_python_that_are_no_labelled_texts_are_refused(item: Any) -> None:
    with pytest.raises(DataError, match="Item 2 of data is not") as caught:
        load_examples([("a", "b"), item], Reading())
    assert caught.value.found


def test_long_texts_from_python_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greffe.pipelines.labelled.LONGEST_TEXT", 20)
    with pytest.raises(DataError, match="Text 1 of data has 21 characters"):
        load_examples([("x" * 21, "label")], Reading())


def test_equal_texts_cannot_be_held_out() -> None:
    equal = [("", label) for label in ("a", "b") * 10]
    with pytest.raises(DataError, match="hold some out") as caught:
        load_parts(Tables(data=equal), Reading(), seed=0)
    assert "20 texts, and no class with two different ones" in str(caught.value)
