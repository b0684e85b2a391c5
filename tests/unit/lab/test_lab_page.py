"""The lab's page in both languages: which answers, with which numbers; figures; escaping."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.unit.report.parsed_page import Page, echo_catalog

from greffe.evaluation.intervals import Estimate
from greffe.lab.head_sections import MISTAKES
from greffe.lab.lab_document import LabDocument, MaskArm
from greffe.lab.lab_page import lab_answers, lab_catalog, lab_page, write_lab_page
from greffe.lab.pretraining_sections import budget_text
from greffe.report.number_format import Language
from greffe.report.page import page_html

LANGUAGES: tuple[Language, ...] = ("en", "fr")


def is_answer(key: str) -> bool:
    return key != "lab.answer.numbered" and key.startswith(("lab.answer.", "verdict."))


def answers_of(document: LabDocument, language: Language = "en") -> list[str]:
    """Ids and values of the answers, with ordinary spaces."""
    answers = lab_answers(document, echo_catalog(lab_catalog(language), is_answer))
    return [re.sub("[\t\u00a0\u202f]", " ", answer) for answer in answers]


def estimate(mean: float, half: float = 0.01) -> Estimate:
    """A mean between its bounds."""
    return Estimate(mean=mean, deviation=0.0, low=mean - half, high=mean + half, values=[mean] * 8)


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
def test_ids_are_unique(document: LabDocument, language: Language) -> None:
    catalog = lab_catalog(language)
    page = Page(page_html(lab_page(document, catalog), catalog))
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("language", LANGUAGES)
def test_charts_are_well_formed(document: LabDocument, language: Language) -> None:
    catalog = lab_catalog(language)
    text = page_html(lab_page(document, catalog), catalog)
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
    answers = answers_of(document)
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


def with_comparison(document: LabDocument, **changes: object) -> LabDocument:
    """The document with another result for masked against causal."""
    study = document.study
    changed = study.comparisons[2].model_copy(update=changes)
    comparisons = [*study.comparisons[:2], changed]
    return document.model_copy(
        update={"study": study.model_copy(update={"comparisons": comparisons})}
    )


def test_the_last_answer_names_whoever_was_better(document: LabDocument) -> None:
    lost = with_comparison(document, difference=estimate(-0.05, 0.02), is_significant=True)
    answer = answers_of(lost)[5]
    assert "objectives_significant winner=lab.answer.causal " in answer
    assert "difference=5.0 points interval=3.0 to 7.0" in answer
    assert "winner=lab.answer.masked " in answers_of(document)[5]


def test_the_last_answer_does_not_depend_on_the_order_of_the_pair(document: LabDocument) -> None:
    turned = with_comparison(
        document, first="pretrained", second="masked", difference=estimate(-0.04)
    )
    assert answers_of(turned, "fr")[5] == answers_of(document, "fr")[5]


def test_differences_that_are_not_significant_are_called_so(document: LabDocument) -> None:
    study = document.study
    same = [
        one.model_copy(update={"difference": estimate(0.004, 0.02), "is_significant": False})
        for one in study.comparisons
    ]
    changed = document.model_copy(update={"study": study.model_copy(update={"comparisons": same})})
    answers = answers_of(changed)
    assert "verdict.not_significant " in answers[4]
    assert "lab.answer.objectives_not_significant " in answers[5]
    assert "difference=+0.4 points interval=−1.6 to +2.4" in answers[5]


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
    assert answers_of(changed)[0].startswith("lab.answer.mask_unclear past=4.00 bits")
    assert answers_of(changed)[1].startswith("lab.answer.positions_unclear with=60.0%")
    for language in LANGUAGES:
        catalog = lab_catalog(language)
        assert page_html(lab_page(changed, catalog), catalog)


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


def test_budgets_in_words() -> None:
    english, french = lab_catalog("en"), lab_catalog("fr")
    assert budget_text("800steps", english) == english.counted(800, "step")
    assert budget_text("10m", french) == french.duration(600)
    assert budget_text("1epochs", french) == french.counted(1, "epoch")
    assert budget_text("2Mtokens", english) == "2,000,000\u00a0tokens"


def test_every_mistake_is_in_one_table(document: LabDocument) -> None:
    listed = [kind for kinds in MISTAKES.values() for kind in kinds]
    assert sorted(listed) == sorted(mistake.kind for mistake in document.counting.mistakes)
