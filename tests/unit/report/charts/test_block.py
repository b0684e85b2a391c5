"""What is around a chart: caption, buttons, table."""

from __future__ import annotations

from xml.etree import ElementTree

from greffe.report.charts import chart_block


def test_a_block_has_caption_buttons_and_table() -> None:
    block = chart_block(
        "<svg/>", "<table><tr><td>1</td></tr></table>", "arms", title="A & B", caption="<why>"
    )
    root = ElementTree.fromstring(block)
    assert root.tag == "figure" and root.attrib["id"] == "arms-figure"
    assert [b.attrib["data-format"] for b in root.iter("button")] == ["svg", "png", "csv"]
    assert all("hidden" in b.attrib and b.attrib["aria-label"] for b in root.iter("button"))
    assert "".join(next(root.iter("figcaption")).itertext()) == "A & B <why>"
    assert root.find("details//table") is not None


def test_a_block_without_drawing_or_table_offers_neither() -> None:
    root = ElementTree.fromstring(chart_block("<p>No data.</p>", "", "arms", title="A"))
    assert not list(root.iter("button")) and not list(root.iter("details"))
