"""Texts with marked words."""

from __future__ import annotations

from xml.etree import ElementTree

from greffe.report.catalog import load_catalog
from greffe.report.charts.marked import marked_text
from greffe.study.document import Marked


def test_marked_words_keep_the_text_and_differ_by_class() -> None:
    pieces = [("Un ", 0.0), (" film", 0.3), (" <b>&", -1.0), (" \n", 0.9), ("رائع 😀", 1.0)]
    html = marked_text(
        [Marked(text=text, weight=weight) for text, weight in pieces], load_catalog("en")
    )
    root = ElementTree.fromstring(html)
    assert "".join(root.itertext()) == "".join(text for text, _ in pieces)
    found = [(each.text, each.attrib["class"]) for each in root.iter("mark")]
    assert found == [
        ("film", "for level-2"),
        ("<b>&", "against level-4"),
        ("رائع 😀", "for level-4"),
    ]
    assert [each.attrib["title"] for each in root.iter("mark")] == ["+0.30", "−1.00", "+1.00"]


def test_without_words_the_element_is_closed() -> None:
    assert marked_text([], load_catalog("en")) == '<span class="marked" dir="auto"></span>'
