"""Checks of texts, each both ways."""

from __future__ import annotations

import pytest

from greffe.config.options import Reading
from greffe.data.tables import Example
from greffe.doctor.text_checks import (
    check_copies,
    check_length,
    check_letters,
    check_overlap,
    check_short,
)
from greffe.progress import quiet

LONG = (
    "Ce roman raconte la vie d'une famille de pêcheurs bretons pendant la guerre, et chaque "
    "chapitre suit un autre de ses membres jusqu'au retour du fils perdu."
)


def different(start, count, label="a"):
    """Texts that have little in common."""
    return [
        Example(" ".join(f"mot{(number * 37 + place) * 11 % 9973}" for place in range(12)), label)
        for number in range(start, start + count)
    ]


def test_different_texts_have_no_copies():
    parts = {"train": different(0, 30), "valid": different(30, 10), "test": different(40, 10)}
    assert list(check_copies(parts)) == []


def test_leaks_are_told_apart_and_counted_in_the_later_part():
    train = [*different(0, 10), Example(LONG, "a"), Example("Très bien", "b")]
    changed = LONG.replace("perdu", "disparu")
    test = [Example("TRÈS bien !", "b"), Example(changed, "a"), Example(LONG, "a")]
    valid = different(20, 5)
    leak, near = (
        finding
        for finding in check_copies({"train": train, "valid": valid, "test": test})
        if finding.kind.endswith("leak")
    )
    assert (leak.kind, leak.severity, leak.where) == ("leak", "serious", "train and test")
    assert (leak.count, leak.total, leak.example) == (2, 3, "TRÈS bien !")
    assert (near.kind, near.severity, near.where) == ("near_leak", "serious", "train and test")
    assert (near.count, near.total) == (1, 3)
    assert " ≈ " in near.example
    assert len(near.example) <= 160


def test_copies_within_a_part_are_notes():
    train = [*different(0, 10), *different(0, 2), Example(LONG, "a"), Example(f"{LONG} Fin", "a")]
    exact, near = check_copies({"train": train})
    assert (exact.kind, exact.severity, exact.count) == ("duplicates", "note", 2)
    assert (near.kind, near.severity, near.count) == ("near_duplicates", "note", 1)
    assert (exact.total, exact.where, exact.example) == (14, "train", train[0].text)


def test_contradictions():
    parts = {
        "train": [*different(0, 5), Example("Pas mal.", "1"), Example("Bof bof", "0")],
        "test": [Example("pas mal", "0"), Example("pas MAL", "1"), Example("bof bof", "0")],
    }
    (found,) = (f for f in check_copies(parts) if f.kind == "contradiction")
    assert (found.severity, found.count, found.total) == ("warning", 3, 10)
    assert found.where == "train and test"
    assert found.example == "0 / 1: Pas mal."
    assert found.detail == {"texts": 1}
    parts["train"][5] = Example("Pas mal.", "0")
    parts["test"][1] = Example("pas MAL", "0")
    assert not [f for f in check_copies(parts) if f.kind == "contradiction"]


def test_empty_texts_are_no_copies_of_each_other():
    assert list(check_copies({"train": [Example("", "a"), Example(" ", "b")]})) == []


def test_short_texts():
    long = Example("語" * 40, "a")
    (found,) = check_short(
        [Example(t, "a") for t in ("", " ", "Nul !", "Pas mal")] + [long], "test"
    )
    assert (found.kind, found.severity, found.count, found.total) == ("short_texts", "note", 3, 5)
    assert (found.detail, found.example) == ({"empty": 2}, "Nul !")
    assert list(check_short([Example("Pas mal", "a"), long], "test")) == []


def test_texts_beyond_the_context(tiny_tokenizer):
    short, long = Example("Ce livre est long.", "a"), Example("Ce livre est long. " * 20, "b")
    lengths = [len(tiny_tokenizer.encode(example.text)) for example in (short, long)]
    context = lengths[1] + 2
    assert list(check_length([short, long], "train", tiny_tokenizer, context)) == []
    (found,) = check_length([short, long], "train", tiny_tokenizer, context - 1)
    assert (found.severity, found.count, found.total) == ("note", 1, 2)
    assert found.detail["cut"] == pytest.approx(1 / sum(lengths))
    assert found.detail["longest"] == lengths[1]
    (found,) = check_length([short, long], "train", tiny_tokenizer, 16)
    assert found.severity == "warning"
    assert found.detail["cut"] == pytest.approx((lengths[1] - 14) / sum(lengths))


def test_unknown_scripts(tiny_tokenizer):
    known = [Example("Ce livre est 語 vraiment magnifique 👍👍👍👍👍👍", "a")] * 200
    assert list(check_letters(known, "train", tiny_tokenizer)) == []
    foreign = [Example("Ce livre est книга", "a"), Example("これは語", "a")]
    (found,) = check_letters([*known, *foreign], "train", tiny_tokenizer)
    assert (found.severity, found.count, found.total) == ("note", 2, 202)
    assert found.detail["scripts"] == "Cyrillic, Hiragana, Han"
    (found,) = check_letters([*known, *foreign * 2], "train", tiny_tokenizer)
    assert (found.severity, found.example) == ("warning", "Ce livre est книга")


def test_overlap_with_the_corpus(tmp_path):
    texts = different(0, 200)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(e.text for e in different(1000, 50)), "utf-8")
    with quiet():
        assert list(check_overlap(texts, "test", [corpus], Reading())) == []
        for leaked, severity in ((2, "warning"), (3, "serious")):
            corpus.write_text("\n".join(f"x {e.text} y" for e in texts[:leaked]), "utf-8")
            (found,) = check_overlap(texts, "test", [corpus], Reading())
            assert (found.kind, found.severity) == ("corpus_overlap", severity)
            assert (found.count, found.total, found.where) == (leaked, 200, "test")
            assert found.detail == {"run": 13, "covered": 1.0, "source": "corpus.txt"}
            assert found.example == texts[0].text
