"""Parts of a page: chart texts, code."""

from __future__ import annotations

from greffe.report.blocks import Code, Section, block_html, chart_texts, section_markdown
from greffe.report.catalog import load_catalog
from greffe.report.charts import ENGLISH as CHART_ENGLISH


def test_chart_texts_are_those_of_the_charts() -> None:
    assert chart_texts(load_catalog("en")) == CHART_ENGLISH
    assert chart_texts(load_catalog("fr")).percent(0.8) == "80,0\u00a0%"


def test_a_code_block_cannot_be_closed_from_within() -> None:
    text = section_markdown(Section("x", "X", "x", [Code("code", "a\n```\nb")]))
    assert text.endswith("````\na\n```\nb\n````")
    assert "<b>" not in block_html(Code("<b>", "<b>"), load_catalog("en"))
