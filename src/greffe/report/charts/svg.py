"""Elements of SVG, and what charts share: frame, grid, axis labels, legend. Knows no figures."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from greffe.report.catalog import Catalog
from greffe.report.charts.scales import Scale, apart
from greffe.report.charts.styles import Style

WIDTH = 720.0
"""Width of a chart that is not square."""
FONT = 13.0
"""Font size of a chart, as in the style sheet."""
MIDDLE = 0.35 * FONT
"""How far below a point text has its baseline when it is centered on the point."""
LINE_HEIGHT = 18.0
SWATCH = 22.0
WIDEST_NAME = 210.0
ELLIPSIS = "…"

_SHAPES = {"circle", "image", "line", "path", "polygon", "rect"}
# Characters that are not allowed in XML.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Heading:
    """A chart's title, description (for screen readers and exports), axis labels and language."""

    ident: str
    """Unique on the page."""
    title: str
    description: str
    catalog: Catalog
    x_label: str = ""
    y_label: str = ""


@dataclass(frozen=True)
class Frame:
    """The edges of the plot within the drawing."""

    left: float
    top: float
    right: float
    bottom: float


# --- elements -------------------------------------------------------------------------------------


def escape(text: str) -> str:
    """Return text that is safe in elements and in attributes."""
    return html.escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text), quote=True)


def coordinate(value: float) -> str:
    """Return a coordinate, rounded to a tenth."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def path(points: Iterable[tuple[float, float]]) -> str:
    """Return the path through points, for the attribute `d`."""
    return "M" + "L".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)


def element(tag: str, content: str = "", /, **attributes: str | float | None) -> str:
    """Return an element; `class_` and `data_x` give class and data-x, None omits an attribute."""
    parts = [tag]
    for name, value in attributes.items():
        if value is not None:
            text = escape(value) if isinstance(value, str) else coordinate(value)
            parts.append(f'{name.rstrip("_").replace("_", "-")}="{text}"')
    opening = " ".join(parts)
    # HTML ignores the slash of self-closing tags: all but the shapes of SVG need an end tag.
    is_shape = tag in _SHAPES and not content
    return f"<{opening}/>" if is_shape else f"<{opening}>{content}</{tag}>"


def text(
    content: str, x: float, y: float, *, anchor: str | None = None, class_: str | None = None
) -> str:
    """Return a line of text with its baseline at `y`."""
    return element("text", escape(content), x=x, y=y, text_anchor=anchor, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def marker(style: Style, x: float, y: float, radius: float = 4.0) -> str:
    """Return the marker of a style, centered on a point."""
    if not style.corners:
        return element("circle", class_="marker", cx=x, cy=y, r=radius)
    corners = ((x + dx * radius, y + dy * radius) for dx, dy in style.corners)
    points = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in corners)
    return element("polygon", class_="marker", points=points)


def mark(content: str, tip: str, class_: str = "", **data: str | float | None) -> str:
    """Return shapes with a tooltip, and their data as attributes."""
    exact = {
        f"data_{key}": f"{value:.6g}" if isinstance(value, int | float) else value
        for key, value in data.items()
    }
    title = element("title", escape(tip))
    return element("g", content + title, class_=f"mark {class_}".rstrip(), **exact)


def svg(body: Iterable[str], heading: Heading, height: float, width: float = WIDTH) -> str:
    """Return the drawing with its name for screen readers; it takes the keyboard focus."""
    ident, description = heading.ident, f"{heading.description} {heading.catalog('chart.hint')}"
    head = element("title", escape(heading.title), id=f"{ident}-title")
    head += element("desc", escape(description), id=f"{ident}-desc")
    drawing = element(
        "svg",
        head + "".join(body),
        xmlns="http://www.w3.org/2000/svg",
        class_="chart wide" if width == WIDTH else "chart square",
        role="img",
        aria_labelledby=f"{ident}-title",
        aria_describedby=f"{ident}-desc",
        tabindex="0",
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        width=width,
        height=height,
    )
    return element("div", drawing, class_="drawing", id=ident)


def no_data(heading: Heading) -> str:
    """Return what replaces a chart without data."""
    return element(
        "p", escape(heading.catalog("chart.no_data")), class_="no-data", id=heading.ident
    )


# --- grid, labels, legend -------------------------------------------------------------------------


def horizontal_grid(frame: Frame, scale: Scale, labels: Sequence[tuple[float, str]]) -> list[str]:
    """Return lines from left to right with their labels at the left."""
    parts = []
    for value, label in labels:
        y = scale(value)
        parts.append(line(frame.left, y, frame.right, y, "grid"))
        parts.append(text(label, frame.left - 8, y + MIDDLE, anchor="end", class_="tick"))
    return parts


def vertical_grid(frame: Frame, scale: Scale, labels: Sequence[tuple[float, str]]) -> list[str]:
    """Return lines from top to bottom with their labels below; labels that would overlap go."""
    widest = max(text_width(label) for _, label in labels)
    values = [value for value, _ in labels]
    labelled = apart(values, [scale(value) for value in values], widest + 8)
    parts = []
    for value, label in labels:
        x = scale(value)
        parts.append(line(x, frame.top, x, frame.bottom, "grid"))
        if value in labelled:
            parts.append(text(label, x, frame.bottom + 19, anchor="middle", class_="tick"))
    return parts


def axis_title(label: str, first: tuple[float, str], catalog: Catalog) -> str:
    """Return an axis label that says where the axis begins (its first tick), if not at zero."""
    value, tick = first
    return f"{label} ({catalog('chart.axis_from', value=tick)})" if value > 0 else label


def label_lines(content: str, x: float, y: float, width: float, anchor: str) -> list[str]:
    """Return an axis label in as many lines as it needs, the first with its baseline at `y`."""
    return [
        text(each, x, y + index * LINE_HEIGHT, anchor=anchor, class_="label")
        for index, each in enumerate(wrapped(content, width))
    ]


def legend(names: Sequence[tuple[str, Style | None]], width: float = WIDTH) -> tuple[str, float]:
    """Return names with swatches in rows, and their height; a reference line has no style."""
    parts = []
    x, y = 4.0, 2.0
    for full, style in names:
        name = fitted(full, WIDEST_NAME)
        needed = SWATCH + 8 + text_width(name)
        if x > 4 and x + needed > width - 4:
            x, y = 4.0, y + LINE_HEIGHT
        swatch = line(x, y + 7, x + SWATCH, y + 7, "line" if style else "reference")
        if style:
            swatch += marker(style, x + SWATCH / 2, y + 7)
        parts.append(element("g", swatch, class_=style.class_name if style else None))
        parts.append(text(name, x + SWATCH + 6, y + 11.5))
        x += needed + 14
    return element("g", "".join(parts), class_="legend"), y + LINE_HEIGHT + 4


# --- text -----------------------------------------------------------------------------------------


def text_width(content: str) -> float:
    """Estimate the width of a text, rather too much than too little."""
    return FONT * sum(_character_width(character) for character in content)


def fitted(content: str, width: float) -> str:
    """Return the text, cut with an ellipsis if it is wider than `width`."""
    if text_width(content) <= width:
        return content
    while content and text_width(content + ELLIPSIS) > width:
        content = content[:-1]
    return content.rstrip() + ELLIPSIS


def wrapped(content: str, width: float) -> list[str]:
    """Return the text in lines that are at most about `width` wide, broken at spaces."""
    lines: list[str] = []
    for word in content.split(" "):
        if lines and text_width(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [fitted(each, width) for each in lines]


def _character_width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in "iljtfrI.,:;!'|()[] \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}":
        return 0.38
    return 0.95 if character in "mwMW%" else 0.72 if character.isupper() else 0.62
