"""Every kind of finding has its words in both languages."""

from __future__ import annotations

import string

import pytest

from greffe.doctor.checks import CHECKS
from greffe.doctor.descriptions import describe, load_sentences
from greffe.doctor.finding import Finding

DETAIL = {
    "leak": {},
    "near_leak": {},
    "duplicates": {},
    "near_duplicates": {},
    "corpus_overlap": {"words": 13, "covered": 0.5, "source": "a.txt"},
    "one_class": {"label": "pos"},
    "contradiction": {"texts": 2},
    "imbalance": {"label": "pos"},
    "rare_class": {"label": "pos"},
    "few_labels": {"label": "pos", "texts": 3, "fewest": 10},
    "unseen_class": {"label": "pos", "texts": 3, "other": "train"},
    "untested_class": {"label": "pos", "texts": 3, "other": "train"},
    "order": {"expected": 800},
    "long_texts": {"context": 256, "cut": 0.12, "longest": 900},
    "unknown_script": {"scripts": "Cyrillic"},
    "short_texts": {"empty": 1},
}


KINDS = [kind for check in CHECKS.values() for kind in check.kinds]


def finding(kind, where="train and test", **fields):
    values = {"count": 1100, "total": 2000, "example": "", "detail": DETAIL[kind], **fields}
    return Finding(kind=kind, severity="note", where=where, **values)


def test_all_kinds_are_tried_here():
    assert DETAIL.keys() == set(KINDS)


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
    def fields(text):
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    english, french = (load_sentences(language)["finding"][kind] for language in ("en", "fr"))
    assert fields(english["what"]) == fields(french["what"])
    assert fields(english["advice"]) == fields(french["advice"])


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
