"""The lab's page in both languages: the answers in order; figures; escaping."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.unit.lab.lab_answers import echoed
from tests.unit.report.parsed_page import Page

from greffe.lab.lab_document import LabDocument
from greffe.lab.lab_page import lab_answers, lab_catalog, lab_page, write_lab_page
from greffe.report.number_format import Language
from greffe.report.page import page_html

LANGUAGES: tuple[Language, ...] = ("en", "fr")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_is_complete(document: LabDocument, tmp_path: Path, language: Language) -> None:
    path = write_lab_page(document, tmp_path, language)
    text = path.read_text("utf-8")
    assert f'<html lang="{language}">' in text
    for ident in ("attention", "mask", "positions", "heads", "counting", "pretraining"):
        assert f'<section id="{ident}"' in text
    assert len(re.findall(r'class="chart wide"', text)) >= 7
    assert path.stat().st_size < 3_000_000
    assert not re.search(r"""(src|href)=["']?(https?:|//)|url\(["']?http|@import""", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_ids_are_unique_and_charts_well_formed(document: LabDocument, language: Language) -> None:
    catalog = lab_catalog(language)
    text = page_html(lab_page(document, catalog), catalog)
    ids = [found["id"] for _, found in Page(text).elements if "id" in found]
    assert len(ids) == len(set(ids))
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert drawings
    for drawing in drawings:
        ElementTree.fromstring(drawing)


def test_what_came_from_texts_is_escaped(document: LabDocument) -> None:
    catalog = lab_catalog("en")
    text = page_html(lab_page(document, catalog), catalog)
    assert document.heads.answers.sentence not in text
    assert "Un &lt;roman&gt; &amp; « beau »" in text
    assert "&lt;b&gt; (10" in text


def test_numbers_are_written_as_the_language_does(document: LabDocument) -> None:
    english = page_html(lab_page(document, lab_catalog("en")), lab_catalog("en"))
    french = page_html(lab_page(document, lab_catalog("fr")), lab_catalog("fr"))
    assert "10,968,200" in english and "21,018,401" in english
    assert "10\u202f968\u202f200" in french and "10,968,200" not in french
    assert "(50\u202f001 − 50\u202f000) × 200" in french


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_placeholder_is_left(document: LabDocument, language: Language) -> None:
    catalog = lab_catalog(language)
    page = lab_page(document, catalog)
    texts = [page.title, page.headline, page.about, page.footer, *page.sentences]
    texts += [text for section in page.sections for text in (section.title, section.lead)]
    assert not [text for text in texts if re.search(r"\{\w+\}", text)]


def test_the_answers_come_in_order_with_their_numbers(document: LabDocument) -> None:
    answers = echoed(lambda catalog: lab_answers(document, catalog))
    expected = [
        ("lab.answer.mask ", "whole=0.09 bits", "past=7.43 bits", "masked=1.37 bits"),
        ("lab.answer.positions ", "with=99.0%", "without=50.0%"),
        ("lab.answer.heads ", "vocab=50,001", "classes=2", "base=10,968,200"),
        ("lab.answer.counting ", "classifier=10,968,602", "language_model=21,018,401"),
        ("verdict.gain ", "gain=8.0 points", "first=82.0%", "second=74.0%"),
        ("lab.answer.objectives_significant ", "difference=4.0 points", "first=86.0%"),
    ]
    for answer, parts in zip(answers, expected, strict=True):
        assert all(part in answer for part in parts), (answer, parts)
    numbers = [re.findall(r"\d", text)[0] for text in lab_answers(document, lab_catalog("en"))]
    assert numbers == list("112345")


def test_the_labs_own_files_are_named(document: LabDocument) -> None:
    catalog = lab_catalog("en")
    assert catalog("lab.sample_only") in lab_page(document, catalog).sentences
    data = document.data.model_copy(
        update={"is_sample": False, "corpus": "wiki.txt", "corpus_is_reviews": True}
    )
    page = lab_page(document.model_copy(update={"data": data}), catalog)
    assert "wiki.txt" in page.about
    assert page.sentences[6:] == [catalog("lab.reviews_only")]
    given = data.model_copy(update={"corpus_is_reviews": False})
    page = lab_page(document.model_copy(update={"data": given}), catalog)
    assert len(page.sentences) == 6
