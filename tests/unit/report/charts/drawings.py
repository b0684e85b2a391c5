"""What tests read in a drawn chart: its first layout, its marks, its texts."""

from __future__ import annotations

from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def layout(drawn: str, name: str | None = None) -> ElementTree.Element:
    """Return the drawing in a layout, by default the first."""
    drawings = ElementTree.fromstring(drawn).iter(f"{SVG}svg")
    return next(one for one in drawings if name is None or name in one.attrib["class"])


def marks(drawn: str, name: str | None = None) -> list[ElementTree.Element]:
    """Return the marks of a layout."""
    groups = layout(drawn, name).iter(f"{SVG}g")
    return [one for one in groups if "mark" in one.get("class", "").split()]


def texts(drawn: str) -> list[str]:
    """Return the texts of the first layout."""
    return [one.text or "" for one in layout(drawn).iter(f"{SVG}text")]


def tip(mark: ElementTree.Element) -> str:
    """Return what a reader sees when pointing at a mark."""
    title = mark.find(f"{SVG}title")
    assert title is not None and title.text
    return title.text
