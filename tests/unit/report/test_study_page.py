"""A study's page: which sections, in which order, and every table."""

from __future__ import annotations

from typing import get_args

import pytest
from tests.unit.report.parsed_page import Page, read_csv

from greffe.report.catalog import load_catalog
from greffe.report.number_format import Language
from greffe.report.page import page_html
from greffe.report.report_table import table_csv, table_html, table_markdown
from greffe.report.study_page import study_page, study_tables
from greffe.study.document import StudyDocument

ENGLISH = load_catalog("en")
FRENCH = load_catalog("fr")


def shown(document: StudyDocument, language: Language) -> str:
    """The page's text."""
    catalog = load_catalog(language)
    return " ".join(Page(page_html(study_page(document, catalog), catalog)).text)


def test_sections_come_in_order(study: StudyDocument) -> None:
    assert [one.ident for one in study_page(study, ENGLISH).sections] == [
        *("arms", "epochs", "labels", "confusion", "disagreements", "parameters", "pictures"),
        *("samples", "calibration", "cost", "proof", "findings", "repeat"),
    ]


def test_sections_without_data_are_left_out(bare_study: StudyDocument) -> None:
    found = [one.ident for one in study_page(bare_study, FRENCH).sections]
    assert found == ["arms", "cost", "proof", "repeat"]


def test_the_page_says_how_much_data_there_was(study: StudyDocument) -> None:
    about = study_page(study, ENGLISH).about
    for count, noun in ((1600, "text"), (400, "text"), (1946, "test_text"), (8, "seed")):
        assert ENGLISH.counted(count, noun) in about


@pytest.mark.parametrize("language", get_args(Language))
@pytest.mark.parametrize(
    ("name", "arm"), [("stacked_runs_study", "stacked+runs"), ("ensemble_study", "ensemble")]
)
def test_derived_arms_are_named_with_their_feature_runs(
    name: str, arm: str, language: Language, request: pytest.FixtureRequest
) -> None:
    catalog, text = load_catalog(language), shown(request.getfixturevalue(name), language)
    assert f"{catalog(f'arms.{arm}')} − TF-IDF" in text
    assert catalog(f"arm_titles.{arm}") in text
    assert ("runs/features" in text) == (arm == "stacked+runs")
    assert (catalog("column.feature_runs") in text) == (arm == "stacked+runs")


def test_no_english_words_are_left_in_french(study: StudyDocument) -> None:
    text = shown(study, "fr")
    for english in ("accuracy", " seeds", " texts", "interval ", "scratch", " the ", "label"):
        assert english not in text


def test_csv_is_the_same_in_every_language(study: StudyDocument) -> None:
    english, french = (
        {table.name: read_csv(table) for table in study_tables(study, load_catalog(language))}
        for language in get_args(Language)
    )
    assert {name for name in english if english[name] != french[name]} <= {"findings"}


def test_every_table_is_named_once(study: StudyDocument) -> None:
    names = [table.name for table in study_tables(study, ENGLISH)]
    assert len(names) == len(set(names))
    assert {
        *("arms", "comparisons", "epochs", "labels", "confusion", "parameters"),
        *("calibration", "cost", "findings", "disagreements"),
    } <= set(names)


def test_every_table_survives_without_data(bare_study: StudyDocument) -> None:
    for table in study_tables(bare_study, FRENCH):
        table_csv(table), table_html(table), table_markdown(table)
