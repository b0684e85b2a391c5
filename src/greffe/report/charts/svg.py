"""Elements, text and frames of SVG. Knows no chart and no figures.

A chart is drawn twice where it needs room: wide, and narrow for phones; the style sheet shows the
one that fits, so that letters never shrink with the drawing.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from greffe.report.charts.shapes import ChartTexts

FONT = 13.0
"""Height of a chart's letters, as in the style sheet."""
ELLIPSIS = "…"

_SHAPES = {"circle", "image", "line", "path", "polygon", "rect"}
# XML knows no way to write these characters.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Layout:
    """How much room a drawing has."""

    name: str
    width: float

    @property
    def is_narrow(self) -> bool:
        return self.width < 500


@dataclass(frozen=True)
class Heading:
    """What a chart is called, and the words of its page."""

    ident: str
    title: str
    description: str
    catalog: ChartTexts


WIDE, NARROW = Layout("wide", 720), Layout("narrow", 360)
LAYOUTS = (WIDE, NARROW)


def escape(text: str) -> str:
    """Text that is safe in elements and in attributes."""
    return html.escape(_UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text), quote=True)


def coordinate(value: float) -> str:
    """A place in the drawing, to a tenth."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def element(tag: str, content: str = "", /, **attributes: str | float | None) -> str:
    """One element; `class_` and `data_x` give class and data-x, None leaves an attribute out."""
    parts = [tag]
    for name, value in attributes.items():
        if value is not None:
            text = escape(value) if isinstance(value, str) else coordinate(value)
            parts.append(f'{name.rstrip("_").replace("_", "-")}="{text}"')
    opening = " ".join(parts)
    # HTML takes a slash for nothing: what is no shape gets an end of its own.
    is_shape = tag in _SHAPES and not content
    return f"<{opening}/>" if is_shape else f"<{opening}>{content}</{tag}>"


def text(
    content: str, x: float, y: float, *, anchor: str | None = None, class_: str | None = None
) -> str:
    """A line of text whose foot stands at `y`."""
    return element("text", escape(content), x=x, y=y, text_anchor=anchor, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def mark(content: str, tip: str, class_: str = "", **data: str | float | None) -> str:
    """What can be read for its value: drawn things, their data and what is said of them."""
    exact = {f"data_{key}": _exact(value) for key, value in data.items()}
    title = element("title", escape(tip))
    return element("g", content + title, class_=f"mark {class_}".rstrip(), **exact)


def svg(body: Iterable[str], heading: Heading, layout: Layout, height: float) -> str:
    """The whole drawing with its name for screen readers; one stop for the keyboard."""
    name = f"{heading.ident}-{layout.name}"
    said = f"{heading.description} {heading.catalog.hint}"
    head = element("title", escape(heading.title), id=f"{name}-title")
    head += element("desc", escape(said), id=f"{name}-desc")
    return element(
        "svg",
        head + "".join(body),
        xmlns="http://www.w3.org/2000/svg",
        class_=f"chart {layout.name}",
        id=name,
        role="img",
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc",
        tabindex="0",
        viewBox=f"0 0 {coordinate(layout.width)} {coordinate(height)}",
        width=layout.width,
        height=height,
    )


def drawing(drawings: Iterable[str], ident: str) -> str:
    """One chart in the layouts it has."""
    return element("div", "".join(drawings), class_="drawing", id=ident)


def no_data(ident: str, catalog: ChartTexts) -> str:
    """What stands in place of a chart that has nothing to show."""
    return element("p", escape(catalog.no_data), class_="no-data", id=ident)


def text_width(content: str, size: float = FONT) -> float:
    """About how wide a text is; never much too little."""
    return size * sum(_character_width(character) for character in content)


def fitted(content: str, width: float, size: float = FONT) -> str:
    """The text, cut with an ellipsis if it is wider than `width`."""
    if text_width(content, size) <= width:
        return content
    kept = content
    while kept and text_width(kept + ELLIPSIS, size) > width:
        kept = kept[:-1]
    return kept.rstrip() + ELLIPSIS


def _character_width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in "iljtfrI.,:;!'|()[] \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}":
        return 0.38
    return 0.95 if character in "mwMW%" else 0.72 if character.isupper() else 0.62


def _exact(value: str | float | None) -> str | None:
    return value if value is None or isinstance(value, str) else f"{value:.6g}"
