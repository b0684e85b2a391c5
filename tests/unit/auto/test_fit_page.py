"""The page of a fit: its sentences in both languages, its ladders."""

from __future__ import annotations

import string
from pathlib import Path
from typing import get_args

import pytest
from tests.builders import estimate

from greffe.auto.document import FitDocument, Rung, Stage
from greffe.auto.fit_page import (
    advice_sentences,
    cost_table,
    fit_catalog,
    fit_page,
    fit_sentences,
    ladder_table,
    rung_name,
    write_fit_page,
)
from greffe.evaluation.intervals import Estimate
from greffe.report.catalog import package_sentences
from greffe.report.number_format import Language
from greffe.report.page import page_html, page_markdown

LANGUAGES: tuple[Language, ...] = get_args(Language)
NAMES = (
    "majority",
    *(
        f"{kind}{suffix}"
        for kind in ("tfidf", "stacked", "finetuned")
        for suffix in ("", "+aux", "+text", "+text+aux")
    ),
    *("features", "features+text"),
    *("ensemble", *get_args(Stage.model_fields["name"].annotation)),
)


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def test_languages_have_the_same_ids_and_placeholders() -> None:
    english, french = (package_sentences("greffe.auto", language) for language in LANGUAGES)
    assert list(english) == list(french)
    for key in english:
        assert placeholders(english[key]) == placeholders(french[key]), key
        assert english[key].strip() and french[key].strip()


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_of_the_report_are_not_redefined(language: Language) -> None:
    ours, report = (
        package_sentences(package, language) for package in ("greffe.auto", "greffe.report")
    )
    assert not ours.keys() & report.keys()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_model_and_advice_has_its_words(language: Language, document: FitDocument) -> None:
    catalog = fit_catalog(language)
    known = {key for key in package_sentences("greffe.auto", language) if key.startswith("rung.")}
    assert {f"rung.{name.replace('+', '_')}" for name in (*NAMES, "times", "final")} == known
    assert len({rung_name(name, catalog) for name in NAMES}) == len(NAMES)
    repeated = rung_name("finetuned+aux@other×3", catalog)
    assert rung_name("finetuned+aux@other", catalog) in repeated and "3" in repeated
    sentences = advice_sentences(document, catalog)
    assert len(sentences) == 5
    assert all(sentence.endswith(".") and "{" not in sentence for sentence in sentences)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_rendered(language: Language, document: FitDocument) -> None:
    catalog = fit_catalog(language)
    page = fit_page(document, catalog)
    html, markdown = page_html(page, catalog), page_markdown(page)
    for text in (html, markdown):
        assert catalog("fit.title") in text
        assert catalog("section.next.title") in text
    assert f'lang="{language}"' in html
    assert "<both>" not in html and "&lt;both&gt;" in html
    assert "{" not in markdown


def test_the_page_is_written_in_both_formats(document: FitDocument, tmp_path: Path) -> None:
    path = write_fit_page(document, tmp_path, "fr")
    assert path.name == "report.html" and path.read_text("utf-8").startswith("<!doctype html>")
    assert "préentraînement" in (tmp_path / "report.md").read_text("utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("kind", "gain"),
    [
        ("up", estimate(0.05, 0.02)),
        ("down", estimate(-0.05, 0.02)),
        ("same", estimate(0.01, 0.02)),
        ("same", estimate(0.02, 0.02)),
    ],
)
def test_gains_are_told_by_their_interval(
    kind: str, gain: Estimate, language: Language, document: FitDocument
) -> None:
    catalog = fit_catalog(language)
    rungs = [
        document.rungs[0],
        Rung(name="tfidf", accuracy=estimate(0.8), over="majority", gain=gain, seconds=1.0),
    ]
    alone = {"chosen": ["tfidf"], "over_tfidf": None}
    found = document.model_copy(update={"rungs": rungs, "skipped": {}, **alone})
    expected = catalog(
        f"fit.gain.{kind}",
        name=rung_name("tfidf", catalog),
        over=rung_name("majority", catalog),
        gain=catalog.counted_points(gain.mean, signed=True),
        interval=catalog.interval_points(gain.low, gain.high, signed=True),
    )
    assert fit_sentences(found, catalog)[1] == expected


def test_sentences_say_what_was_expected_skipped_kept_and_found(document: FitDocument) -> None:
    catalog = fit_catalog("en")
    sentences = fit_sentences(document, catalog)
    assert "82.0%" in sentences[0] and "TF-IDF and the fine-tuned base" in sentences[0]
    assert sentences[1].startswith("This classifier: +5.0") and "over TF-IDF" in sentences[1]
    assert sum("was not tried" in sentence for sentence in sentences) == 1
    assert sentences[-1] == document.findings[0]
    assert catalog("fit.simplest") not in sentences
    alone = document.model_copy(update={"chosen": ["tfidf"]})
    assert catalog("fit.simplest") in fit_sentences(alone, catalog)


def test_tables_have_a_row_for_each_model_and_stage(document: FitDocument) -> None:
    catalog = fit_catalog("en")
    ladder, cost = ladder_table(document, catalog), cost_table(document, catalog)
    assert len(ladder.rows) == 5
    assert len(cost.rows) == 1 + 4
