"""The report as its reader has it: in a browser, from disk, without a network."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from greffe.report.build import write_study_report
from greffe.report.catalog import load_catalog

PHONE = {"width": 375, "height": 800}
VISIBLE_CHARTS = "figure svg.chart:visible"


def test_it_opens_from_disk_without_complaint_and_without_a_network(open_page, study):
    opened = open_page(study.report)
    opened.page.wait_for_load_state("networkidle")
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("data:", "blob:"))] == [
        opened.url
    ]


def test_the_sections_come_in_order(page):
    catalog = load_catalog("en")
    titles = page.locator("main section > h2").all_inner_texts()
    assert titles == [
        catalog(f"section.{name}.title")
        for name in (
            *("arms", "epochs", "labels", "confusion", "disagreements", "parameters", "pictures"),
            *("samples", "calibration", "cost", "proof", "findings", "repeat"),
        )
    ]
    assert page.locator("h1").count() == 1
    linked = page.locator("nav.contents a").evaluate_all("links => links.map(a => a.hash)")
    assert linked == [
        f"#{name}"
        for name in page.locator("main section").evaluate_all("sections => sections.map(s => s.id)")
    ]


def test_the_verdict_comes_first(page, study):
    assert page.locator(".headline").text_content() == study.verdict_in("en").headline


def test_every_chart_has_its_data(page, study):
    found = study.results
    arms = page.locator("#arms figure").first
    means = arms.locator("svg.chart:visible [data-mean]").evaluate_all(
        "marks => marks.map(mark => Number(mark.dataset.mean))"
    )
    assert means == pytest.approx([arm.accuracy.mean for arm in found.arms])
    shown = page.locator("#epochs svg.chart:visible [data-y]").evaluate_all(
        "marks => marks.map(mark => Number(mark.dataset.y))"
    )
    expected = [
        point.mean
        for arm in found.arms
        for point in arm.epochs
        if arm.name in ("pretrained", "scratch")
    ]
    assert sorted(shown) == pytest.approx(sorted(expected))
    labels = page.locator("#labels svg.chart:visible [data-y]")
    assert labels.count() == len(found.label_curves.points)
    for chart in page.locator(VISIBLE_CHARTS).all():
        box = chart.bounding_box()
        assert box["width"] > 50
        assert box["height"] > 50


def test_values_can_be_read_by_hovering_and_by_keyboard(page):
    chart = page.locator("#arms svg.chart:visible").first
    chart.scroll_into_view_if_needed()
    mark = chart.locator("[data-mean]").first
    mark.hover(force=True)
    tooltip = page.locator("[role=tooltip]:visible, .tooltip:visible").first
    assert "pretrained" in tooltip.inner_text()
    page.mouse.move(0, 0)
    chart.focus()
    page.keyboard.press("ArrowRight")
    first = tooltip.inner_text()
    page.keyboard.press("ArrowRight")
    assert tooltip.inner_text() != first


@pytest.mark.parametrize("kind", ["SVG", "PNG", "CSV"])
def test_charts_can_be_saved(page, kind):
    figure = page.locator("#arms figure").first
    with page.expect_download() as waiting:
        figure.locator("button.export", has_text=kind).click()
    data = waiting.value.path().read_bytes()
    assert waiting.value.suggested_filename.endswith(f".{kind.lower()}")
    if kind == "SVG":
        assert ElementTree.fromstring(data).tag.endswith("svg")
    elif kind == "PNG":
        assert data.startswith(b"\x89PNG")
        assert len(data) > 2000
    else:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
        assert len(rows) > 5


def test_dark_and_light(open_page, study):
    def background(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = open_page(study.report, color_scheme="light").page
    dark = open_page(study.report, color_scheme="dark").page
    assert background(light) != background(dark)
    before = background(light)
    light.get_by_role("button", name=load_catalog("en")("page.theme")).click()
    assert background(light) != before


def test_a_phone_shows_all_without_scrolling_sideways(open_page, study):
    page = open_page(study.report, viewport=PHONE).page
    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1]
    sizes = page.locator(f"{VISIBLE_CHARTS} text").evaluate_all(
        "texts => texts.map(t => t.getBoundingClientRect().height)"
    )
    assert min(size for size in sizes if size) > 7


def test_paper(page):
    page.emulate_media(media="print", color_scheme="dark")
    assert (
        page.locator("nav.contents").is_hidden() or page.locator("button.export").first.is_hidden()
    )
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") in (
        "rgb(255, 255, 255)",
        "rgba(0, 0, 0, 0)",
    )
    assert len(page.pdf()) > 20_000


def test_a_screen_reader_finds_its_way(page):
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title()
    levels = page.locator("h1, h2, h3, h4").evaluate_all(
        "heads => heads.map(head => Number(head.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    unnamed = page.locator("svg[role=img]").evaluate_all(
        "charts => charts.filter(c => !(c.getAttribute('aria-label') || "
        "document.getElementById((c.getAttribute('aria-labelledby') || ' ').split(' ')[0]))).length"
    )
    assert unnamed == 0
    for table in page.locator("table").all():
        assert table.locator("th").count() > 0
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#content"
    identifiers = page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
    assert len(set(identifiers)) == len(identifiers)


def test_french(open_page, study, tmp_path):
    opened = open_page(write_study_report(study.results, tmp_path, language="fr"))
    assert opened.complaints == []
    assert opened.page.evaluate("document.documentElement.lang") == "fr"
    assert opened.page.locator(".headline").text_content() == study.verdict_in("fr").headline
    text = opened.page.locator("main").inner_text()
    assert "Accuracy" not in text
    assert load_catalog("fr")("section.arms.title") in text


def test_text_that_looks_like_a_page_stays_text(open_page, study, tmp_path):
    attack = '<img src=x onerror="document.title=1"></script><b>'
    sample = study.results.samples[0].model_copy(update={"prompt": attack, "text": attack})
    disagreement = study.results.disagreements[0].model_copy(
        update={"label": attack, "text": attack}
    )
    document = study.results.model_copy(
        update={
            "samples": [sample],
            "disagreements": [disagreement],
            "name": attack,
        }
    )
    opened = open_page(write_study_report(document, tmp_path))
    assert opened.page.title() != "1"
    assert opened.page.locator("img[src=x]").count() == 0
    assert attack in opened.page.locator("main").inner_text()
    assert opened.complaints == []
