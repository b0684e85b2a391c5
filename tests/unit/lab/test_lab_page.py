"""The lab's page in both languages: answers, figures, escaping, and sentences for unclear runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from greffe.evaluation.intervals import Estimate
from greffe.lab.lab_catalog import lab_words
from greffe.lab.lab_document import LabDocument, MaskArm
from greffe.lab.lab_page import lab_answers, lab_page, write_lab_page
from greffe.lab.pretraining_sections import spoken_budget
from greffe.report.number_format import Language
from greffe.report.page import page_html

LANGUAGES: tuple[Language, ...] = ("en", "fr")


def estimate(mean: float, half: float = 0.01) -> Estimate:
    """A mean between its bounds."""
    return Estimate(mean=mean, deviation=0.0, low=mean - half, high=mean + half, values=[mean] * 8)


class Idents(HTMLParser):
    """Every id of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name == "id" and value]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_is_whole(document: LabDocument, tmp_path: Path, language: Language) -> None:
    path = write_lab_page(document, tmp_path, language)
    text = path.read_text("utf-8")
    assert f'<html lang="{language}">' in text
    for ident in ("attention", "mask", "positions", "heads", "counting", "pretraining"):
        assert f'<section id="{ident}"' in text
    assert len(re.findall(r'class="chart wide"', text)) >= 7
    assert path.stat().st_size < 3_000_000
    assert not re.search(r"""(src|href)=["']?(https?:|//)|url\(["']?http|@import""", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_idents_are_unique(document: LabDocument, language: Language) -> None:
    catalog = lab_words(language)
    parser = Idents()
    parser.feed(page_html(lab_page(document, catalog), catalog))
    assert len(parser.found) == len(set(parser.found))


@pytest.mark.parametrize("language", LANGUAGES)
def test_charts_are_well_formed(document: LabDocument, language: Language) -> None:
    catalog = lab_words(language)
    text = page_html(lab_page(document, catalog), catalog)
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert drawings
    for drawing in drawings:
        ElementTree.fromstring(drawing)


def test_what_came_from_texts_is_escaped(document: LabDocument) -> None:
    catalog = lab_words("en")
    text = page_html(lab_page(document, catalog), catalog)
    assert document.heads.answers.sentence not in text
    assert "Un &lt;roman&gt; &amp; « beau »" in text
    assert "&lt;b&gt; (10" in text


def test_numbers_are_written_as_the_language_does(document: LabDocument) -> None:
    english = page_html(lab_page(document, lab_words("en")), lab_words("en"))
    french = page_html(lab_page(document, lab_words("fr")), lab_words("fr"))
    assert "10,968,200" in english and "21,018,401" in english
    assert "10\u202f968\u202f200" in french and "10,968,200" not in french
    assert "(50\u202f001 − 50\u202f000) × 200" in french


def test_the_answers_stand_in_order(document: LabDocument) -> None:
    answers = lab_answers(document, lab_words("en"))
    assert [re.findall(r"\d", answer)[0] for answer in answers] == list("112345")
    assert "7.43\u00a0bits" in answers[0] and "0.09" in answers[0]
    assert "50.0\u00a0%" in answers[1]
    assert "50,001 scores" in answers[2]
    assert "10,968,602" in answers[3]
    assert "8.0\u00a0points" in answers[4]
    assert "masked words" in answers[5] and "4.0\u00a0points" in answers[5]


def test_the_last_answer_names_whoever_was_better(document: LabDocument) -> None:
    study = document.study
    lost = study.comparisons[2].model_copy(
        update={"difference": estimate(-0.05, 0.02), "is_significant": True}
    )
    changed = document.model_copy(
        update={"study": study.model_copy(update={"comparisons": [*study.comparisons[:2], lost]})}
    )
    answer = lab_answers(changed, lab_words("en"))[5]
    assert "Pretraining left to right was better" in answer
    assert "5.0\u00a0points" in answer and "3.0 to 7.0" in answer


def test_the_last_answer_does_not_depend_on_how_the_pair_is_held(document: LabDocument) -> None:
    study = document.study
    first = study.comparisons[2]
    turned = first.model_copy(
        update={"first": "pretrained", "second": "masked", "difference": estimate(-0.04)}
    )
    changed = document.model_copy(
        update={"study": study.model_copy(update={"comparisons": [*study.comparisons[:2], turned]})}
    )
    catalog = lab_words("fr")
    assert lab_answers(changed, catalog)[5] == lab_answers(document, catalog)[5]


def test_no_difference_is_said_to_be_none(document: LabDocument) -> None:
    study = document.study
    same = [
        one.model_copy(update={"difference": estimate(0.004, 0.02), "is_significant": False})
        for one in study.comparisons
    ]
    changed = document.model_copy(update={"study": study.model_copy(update={"comparisons": same})})
    answers = lab_answers(changed, lab_words("en"))
    assert "No difference was shown" in answers[4]
    assert "no difference was shown on the same budget" in answers[5]


def test_unclear_runs_claim_nothing(document: LabDocument) -> None:
    attention = document.attention

    def alike(arm: MaskArm) -> MaskArm:
        return arm.model_copy(update={"past_bits": estimate(4.0, 0.5)})

    mask = attention.mask.model_copy(update={"arms": [alike(arm) for arm in attention.mask.arms]})
    order = attention.order.model_copy(
        update={
            "arms": [
                arm.model_copy(update={"accuracy": estimate(0.6, 0.1)})
                for arm in attention.order.arms
            ]
        }
    )
    changed = document.model_copy(
        update={"attention": attention.model_copy(update={"mask": mask, "order": order})}
    )
    for language in LANGUAGES:
        catalog = lab_words(language)
        answers = lab_answers(changed, catalog)
        assert answers[0] != lab_answers(document, catalog)[0]
        assert "4.00" in answers[0].replace(",", ".")
        assert page_html(lab_page(changed, catalog), catalog)
    assert "not far enough apart" in lab_answers(changed, lab_words("en"))[0]
    assert "not far enough apart" in lab_answers(changed, lab_words("en"))[1]


def test_the_labs_own_files_are_named(document: LabDocument) -> None:
    data = document.data.model_copy(
        update={"is_sample": False, "corpus": "wiki.txt", "corpus_is_reviews": True}
    )
    page = lab_page(document.model_copy(update={"data": data}), lab_words("en"))
    assert "wiki.txt" in page.about
    assert "training reviews’ own words" in page.sentences[-1]
    given = data.model_copy(update={"corpus_is_reviews": False})
    page = lab_page(document.model_copy(update={"data": given}), lab_words("en"))
    assert page.sentences[-1].startswith("Question 5")


def test_budgets_are_said_in_words() -> None:
    english, french = lab_words("en"), lab_words("fr")
    assert spoken_budget("800steps", english) == "800\u00a0steps"
    assert spoken_budget("10m", french) == "10,0\u00a0min"
    assert spoken_budget("1epochs", french) == "1\u00a0époque"
    assert spoken_budget("2Mtokens", english) == "2,000,000\u00a0tokens"
