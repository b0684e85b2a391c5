from __future__ import annotations

import json
from collections import Counter

import pytest

from greffe.config.sections import TokenizerSpec
from greffe.data import tokenizer_training
from greffe.data.pieces import SPACE
from greffe.data.tokenizer_training import (
    RESERVED,
    alphabet_of,
    count_words,
    learn,
    only_letters_of,
    scaled,
)
from greffe.errors import DataError


def test_words_are_counted_as_the_tokenizer_splits_them() -> None:
    assert count_words(["un livre, un film", "l'été"]) == {
        "▁un": 2,
        "▁livre": 1,
        ",": 1,
        "▁film": 1,
        "▁l'": 1,
        "été": 1,
    }


def test_counting_in_several_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["un livre", "deux  livres", "un film"] * 5
    whole = count_words(texts)
    monkeypatch.setattr(tokenizer_training, "_COUNTED_AT_ONCE", 10)
    assert count_words(texts) == whole


def test_rare_words_are_dropped_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_training, "MOST_WORDS", 2)
    assert set(count_words(["a a a b b c d"])) == {"▁a", "▁b"}


@pytest.mark.parametrize("texts", [[], ["", ""], ["a\udce9"], [b"bytes"]])
def test_what_cannot_be_counted_is_refused(texts: list[str]) -> None:
    with pytest.raises(DataError):
        count_words(texts)


def test_the_alphabet_is_ascii_and_what_occurs_twice() -> None:
    alphabet = alphabet_of({"▁été": 1, "œ": 1, "\x07\x07": 5, "~": 1}, size=1000)
    assert alphabet[0] == SPACE
    assert {"a", "Z", "~", "é"} <= set(alphabet)
    assert not {"œ", "\x07"} & set(alphabet)
    # Large scripts leave half of the room for words.
    many = {chr(0x4E00 + number): 2 for number in range(500)}
    assert len(alphabet_of(many, size=600)) == 300
    assert set(alphabet_of({"ab": 3, "c": 1}, size=6)) == {SPACE, "a", "b"}


def test_words_are_split_at_foreign_characters() -> None:
    assert only_letters_of({"aœb": 2, "b": 1, "œ": 4}, "ab") == {"a": 2, "b": 3}


def test_counts_are_scaled_down_but_never_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    words = Counter({"a": 90, "b": 10, "c": 1})
    assert scaled(words) == words
    monkeypatch.setattr(tokenizer_training, "MOST_OCCURRENCES", 20)
    assert scaled(words) == {"a": 15, "b": 2, "c": 1}


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_vocabulary_begins_with_what_is_reserved(kind: str) -> None:
    texts = ["un livre magnifique", "un film magnifique", "un roman"] * 4
    model = json.loads(learn(texts, TokenizerSpec(kind=kind, vocab=400)))["model"]
    pieces = (
        sorted(model["vocab"], key=model["vocab"].__getitem__)
        if kind == "bpe"
        else [piece for piece, _ in model["vocab"]]
    )
    assert pieces[: len(RESERVED)] == list(RESERVED)
    assert "▁magnifique" in pieces
    assert len(pieces) <= 400


def test_two_unigram_trainings_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rare, usual = {"▁a": -1.0, "b": -2.0}, {"▁a": -1.0, "c": -2.0}
    drawn = iter([rare, usual, usual, rare])
    monkeypatch.setattr(tokenizer_training, "_unigram_scores", lambda *_: next(drawn))
    made = learn(["a b c a b c"], TokenizerSpec(kind="unigram", vocab=300))
    learned = dict(json.loads(made)["model"]["vocab"])
    assert learned["c"] == -2.0
    assert "b" not in learned
    assert next(drawn) == rare
