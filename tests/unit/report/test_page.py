"""The page: whole, well-formed, self-contained, and safe with any text."""

from __future__ import annotations

import base64
import hashlib
import re
from itertools import pairwise
from typing import get_args

import pytest
from tests.unit.report.parsed_page import Page

from greffe.report.catalog import load_catalog
from greffe.report.number_format import Language
from greffe.report.page import page_html, page_markdown
from greffe.report.study_page import study_page
from greffe.study.document import StudyDocument


@pytest.fixture(scope="module", params=get_args(Language))
def language(request: pytest.FixtureRequest) -> Language:
    chosen: Language = request.param
    return chosen


@pytest.fixture(scope="module")
def html(study: StudyDocument, language: Language) -> str:
    catalog = load_catalog(language)
    return page_html(study_page(study, catalog), catalog)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_contents_link_to_every_section(page: Page) -> None:
    sections = [f"#{attributes['id']}" for attributes in page.all("section")]
    assert [attributes["href"] for attributes in page.all("a")] == ["#content", *sections]


def test_ids_are_unique_and_every_reference_has_its_target(page: Page) -> None:
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "aria-describedby"):
            assert set((attributes.get(name) or "").split()) <= set(ids)


def test_language_title_and_headings(page: Page, language: Language) -> None:
    assert page.all("html")[0]["lang"] == language
    levels = [int(name[1]) for name, _ in page.elements if re.fullmatch(r"h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_nothing_is_loaded_from_elsewhere(html: str, page: Page) -> None:
    for _, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "action", "data"):
            value = attributes.get(name) or ""
            assert value.startswith(("#", "data:")) or not value
    assert "@import" not in html
    assert not re.search(r"url\((?!['\"]?(data:|#))", html)


def test_only_our_script_may_run(html: str, page: Page) -> None:
    script = html[html.index("<script>") + 8 : html.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(meta["content"] for meta in page.all("meta") if "http-equiv" in meta)
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert len(page.all("script")) == 1
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]


def test_texts_are_shown_as_they_are(page: Page, html: str) -> None:
    shown = "".join(page.text)
    assert "<script>alert('x')</script> & \"quotes\"" in shown
    assert "هذا الكتاب رائع جدا 👍🏽" in shown
    assert "<CLS> & co" in shown
    assert "<script>alert" not in html
    assert "<b>roman" not in html


def test_the_verdict_is_the_first_thing(page: Page) -> None:
    names = [name for name, _ in page.elements]
    assert names.index("header") < names.index("nav") < names.index("main")


def test_marked_words_are_there_with_both_signs(page: Page) -> None:
    classes = [attributes["class"] or "" for attributes in page.all("mark")]
    assert any("for" in one.split() for one in classes)
    assert any("against" in one.split() for one in classes)


def test_every_chart_has_its_table_and_a_sentence(page: Page, html: str) -> None:
    figures = re.findall(r"<figure.*?</figure>", html, re.DOTALL)
    assert len(figures) == 15
    for figure in figures:
        assert "<svg" in figure
        assert "<table" in figure
        caption = re.search(r"<figcaption><strong>.+?</strong>(.*?)</figcaption>", figure)
        assert caption is not None
        assert caption[1].strip()


def test_the_page_is_small(html: str) -> None:
    assert len(html.encode()) < 1_000_000


# --- Markdown -------------------------------------------------------------------------------------


def test_markdown_has_every_section_and_table(study: StudyDocument, language: Language) -> None:
    catalog = load_catalog(language)
    found = study_page(study, catalog)
    text = page_markdown(found)
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == [one.title for one in found.sections]
    for block in re.split(r"\n\n", text):
        if block.startswith("|"):
            bars = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(bars) == 1


def test_markdown_shows_texts_as_they_are(study: StudyDocument) -> None:
    text = page_markdown(study_page(study, load_catalog("en")))
    assert "<script>" not in text
    assert "\\<script\\>alert('x')\\</script\\> &amp;" in text
