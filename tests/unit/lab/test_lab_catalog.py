"""Both catalogues say the same things, with the same places, and add to the report's alone."""

from __future__ import annotations

import string
from typing import get_args

from greffe.lab.head_sections import MISTAKES
from greffe.lab.lab_catalog import lab_words, own_words
from greffe.lab.lab_document import MistakeKind
from greffe.report.catalog import load_catalog


def places(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_the_languages_have_the_same_keys_and_places() -> None:
    english, french = own_words("en").sentences, own_words("fr").sentences
    assert english.keys() == french.keys()
    different = [key for key in english if places(english[key]) != places(french[key])]
    assert different == []


def test_no_sentence_is_left_in_the_other_language() -> None:
    english, french = own_words("en").sentences, own_words("fr").sentences
    same = {key for key in english if english[key] == french[key] and english[key]}
    assert same <= {
        "counted.document.one",
        "counted.document.many",
        "lab.answer.numbered",
        "counted.bit.one",
        "counted.bit.many",
        "lab.heads.question",
        "lab.heads.scores",
        "lab.counting.column_base",
    }


def test_the_reports_own_sentences_stay_as_they_are() -> None:
    for language in ("en", "fr"):
        report = load_catalog(language).sentences
        assert not report.keys() & own_words(language).sentences.keys()
        assert report.items() <= lab_words(language).sentences.items()


def test_every_mistake_has_its_words() -> None:
    for language in ("en", "fr"):
        for kind in get_args(MistakeKind):
            assert own_words(language).has(f"lab.mistake.{kind}")


def test_every_mistake_stands_in_one_table() -> None:
    shown = [kind for kinds in MISTAKES.values() for kind in kinds]
    assert sorted(shown) == sorted(get_args(MistakeKind))
