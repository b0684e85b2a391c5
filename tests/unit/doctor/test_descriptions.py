"""Every kind of finding has its words in both languages."""

from __future__ import annotations

import string

import pytest

from greffe.doctor.descriptions import SENTENCES, describe
from greffe.doctor.finding import Finding

DETAIL = {
    "leak": {},
    "near_leak": {},
    "duplicates": {},
    "near_duplicates": {},
    "corpus_overlap": {"run": 13, "covered": 0.5, "source": "a.txt"},
    "one_class": {"label": "pos", "share": 0.99},
    "contradiction": {"texts": 2},
    "imbalance": {"label": "pos", "share": 0.69},
    "rare_class": {"label": "pos", "share": 0.01},
    "few_labels": {"label": "pos", "texts": 3, "fewest": 10},
    "unseen_class": {"label": "pos", "texts": 3, "other": "train"},
    "untested_class": {"label": "pos", "texts": 3, "other": "train"},
    "order": {"expected": 800},
    "long_texts": {"context": 256, "cut": 0.12, "longest": 900},
    "unknown_script": {"scripts": "Cyrillic"},
    "short_texts": {"empty": 1},
}


def finding(kind, where="train and test", **fields):
    values = {"count": 1100, "total": 2000, "example": "", "detail": DETAIL[kind], **fields}
    return Finding(kind=kind, severity="note", where=where, **values)


def test_all_kinds_are_tried_here():
    assert DETAIL.keys() == SENTENCES.keys()


@pytest.mark.parametrize("kind", SENTENCES)
@pytest.mark.parametrize("language", ["en", "fr"])
def test_every_kind_in_both_languages(kind, language):
    what, advice = describe(finding(kind), language)
    assert "{" not in what + advice
    assert "None" not in what + advice
    assert what.endswith(".")
    assert advice.endswith(".")
    assert ("1,100" if language == "en" else "1\u202f100") in what


@pytest.mark.parametrize("kind", SENTENCES)
def test_both_languages_name_the_same_figures(kind):
    def fields(text):
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    said = SENTENCES[kind]
    assert fields(said.what) == fields(said.what_french)
    assert fields(said.advice) == fields(said.advice_french)


def test_parts_and_shares_are_written_out():
    what, advice = describe(finding("leak", count=54))
    assert what == (
        "Texts of the test part that also stand in the training part, word for word: "
        "54 of 2,000 (2.7%)."
    )
    assert "the test part" in advice
    what, _ = describe(finding("leak", count=54), "fr")
    assert what == (
        "Textes de la partie de test qui figurent aussi, mot pour mot, dans la partie "
        "d’apprentissage : 54 sur 2\u202f000 (2,7\u202f%)."
    )


def test_a_label_that_is_named_like_a_part_stays_a_label():
    what, _ = describe(finding("imbalance", "train", detail={"label": "test", "share": 0.7}))
    assert "“test”" in what
