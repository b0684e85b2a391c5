"""Parts of a page: figures, code."""

from __future__ import annotations

from xml.etree import ElementTree

from greffe.report.blocks import Code, Figure, Section, block_html, section_markdown
from greffe.report.catalog import load_catalog
from greffe.report.report_table import Column, Table, cell

TABLE = Table("t", "T", [Column("x", ("x",))], [[cell("1", 1)]])


def test_a_figure_has_caption_buttons_and_table() -> None:
    figure = Figure("arms", "A & B", "<why>", "<svg/>", TABLE)
    root = ElementTree.fromstring(block_html(figure, load_catalog("en")))
    assert root.tag == "figure" and root.attrib["id"] == "arms-figure"
    assert [b.attrib["data-format"] for b in root.iter("button")] == ["svg", "png", "csv"]
    assert all("hidden" in b.attrib and b.attrib["aria-label"] for b in root.iter("button"))
    assert "".join(next(root.iter("figcaption")).itertext()) == "A & B <why>"
    assert root.find("details//table") is not None


def test_a_figure_without_a_drawing_saves_only_its_table() -> None:
    figure = Figure("arms", "A", "", "<p>No data.</p>", TABLE)
    root = ElementTree.fromstring(block_html(figure, load_catalog("en")))
    assert [b.attrib["data-format"] for b in root.iter("button")] == ["csv"]


def test_a_code_block_cannot_be_closed_from_within() -> None:
    text = section_markdown(Section("x", "X", "x", [Code("code", "a\n```\nb")]))
    assert text.endswith("````\na\n```\nb\n````")
    assert "<b>" not in block_html(Code("<b>", "<b>"), load_catalog("en"))
