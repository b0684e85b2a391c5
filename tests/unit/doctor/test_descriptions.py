"""Every kind of finding has its words in both languages."""

from __future__ import annotations

import string

import pytest

from greffe.doctor.checks import CHECKS
from greffe.doctor.descriptions import describe, load_sentences
from greffe.doctor.finding import Finding

KINDS = [kind for check in CHECKS.values() for kind in check.kinds]


COMMON = {"count", "total", "fraction", "where", "first", "last"}
"""Placeholders that every sentence may use."""


def placeholders(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def details(kind):
    """Return a value for every other placeholder of the sentences in English."""
    sentences = load_sentences("en")["finding"][kind].values()
    names = set().union(*map(placeholders, sentences)) - COMMON
    return {name: "train" if name == "other" else 3 for name in names}


def finding(kind, where="train and test", **fields):
    values = {"count": 1100, "total": 2000, "example": "", "detail": details(kind), **fields}
    return Finding(kind=kind, severity="note", where=where, **values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["en", "fr"])
def test_every_kind_in_both_languages(kind, language):
    what, advice = describe(finding(kind), language)
    assert "{" not in what + advice
    assert "None" not in what + advice
    assert what.endswith(".")
    assert advice.endswith(".")
    assert ("1,100" if language == "en" else "1\u202f100") in what


@pytest.mark.parametrize("kind", KINDS)
def test_both_languages_name_the_same_figures(kind):
    english, french = (load_sentences(language)["finding"][kind] for language in ("en", "fr"))
    assert placeholders(english["what"]) == placeholders(french["what"])
    assert placeholders(english["advice"]) == placeholders(french["advice"])


def test_parts_and_fractions_are_written_out():
    what, advice = describe(finding("leak", count=54))
    assert "the test part" in what and "the training part" in what and "the test part" in advice
    assert "54 of 2,000 (2.7%)" in what
    what, _ = describe(finding("leak", count=54), "fr")
    assert "la partie de test" in what and "la partie d’apprentissage" in what
    assert "54 sur 2\u202f000 (2,7\u202f%)" in what


def test_a_label_that_is_named_like_a_part_stays_a_label():
    what, _ = describe(finding("imbalance", "train", detail={"label": "test"}))
    assert "“test”" in what
