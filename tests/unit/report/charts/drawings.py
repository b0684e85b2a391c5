"""What tests read in a chart: its marks and its texts."""

from __future__ import annotations

from xml.etree import ElementTree

from greffe.report.catalog import load_catalog
from greffe.report.charts.svg import Heading

SVG = "{http://www.w3.org/2000/svg}"


HEADING = Heading("c", "T", "D", load_catalog("en"), x_label="X", y_label="Y")


def parsed(chart: str) -> ElementTree.Element:
    """Return the drawing of a chart."""
    return next(ElementTree.fromstring(chart).iter(f"{SVG}svg"))


def marks(chart: str) -> list[ElementTree.Element]:
    """Return the marks of a chart."""
    groups = parsed(chart).iter(f"{SVG}g")
    return [one for one in groups if "mark" in one.get("class", "").split()]


def texts(chart: str) -> list[str]:
    """Return the texts of a chart."""
    return [one.text or "" for one in parsed(chart).iter(f"{SVG}text")]


def tip(mark: ElementTree.Element) -> str:
    """Return the tooltip of a mark."""
    title = mark.find(f"{SVG}title")
    assert title is not None and title.text
    return title.text
