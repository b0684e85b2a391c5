"""What stands around the marks: grid, axes, legend, labels at line ends. Knows no figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greffe.report.charts.scales import Scale, apart, spread
from greffe.report.charts.styles import Style
from greffe.report.charts.svg import FONT, element, fitted, line, text, text_width

LINE_HEIGHT = 18.0
SWATCH = 22.0


@dataclass(frozen=True)
class Frame:
    """The edges of the plot within the drawing."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Entry:
    """A series' name and signs, or a reference line's (without style)."""

    name: str
    style: Style | None


@dataclass(frozen=True)
class LineEnd:
    """Where the line of an entry ends."""

    entry: Entry
    x: float
    y: float


def level_grid(frame: Frame, scale: Scale, labels: Sequence[tuple[float, str]]) -> list[str]:
    """Lines from left to right with their labels at the left."""
    parts = []
    for value, label in labels:
        y = scale(value)
        parts.append(line(frame.left, y, frame.right, y, "grid"))
        parts.append(text(label, frame.left - 8, y + 0.35 * FONT, anchor="end", class_="tick"))
    return parts


def upright_grid(
    frame: Frame, scale: Scale, labels: Sequence[tuple[float, str]], *, ruled: bool
) -> list[str]:
    """Labels below the plot; lines up through it if `ruled`, else short ticks."""
    parts = []
    for value, label in labels:
        x = scale(value)
        if ruled:
            parts.append(line(x, frame.top, x, frame.bottom, "grid"))
        else:
            parts.append(line(x, frame.bottom, x, frame.bottom + 4, "axis"))
        parts.append(text(label, x, frame.bottom + 19, anchor="middle", class_="tick"))
    return parts


def sparse(scale: Scale, labels: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Labels that would meet lose their text; their lines stay."""
    values = [value for value, _ in labels]
    widest = max(text_width(label) for _, label in labels)
    kept = set(apart(values, [scale(value) for value in values], widest + 8))
    return [(value, label if value in kept else "") for value, label in labels]


def wrapped(content: str, width: float) -> list[str]:
    """The text in lines that are at most about `width` wide, broken at spaces."""
    lines: list[str] = []
    for word in content.split(" "):
        if lines and text_width(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [fitted(each, width) for each in lines]


def label_lines(content: str, x: float, y: float, width: float, anchor: str) -> list[str]:
    """An axis label in as many lines as it needs, the first with its foot at `y`."""
    return [
        text(each, x, y + index * LINE_HEIGHT, anchor=anchor, class_="label")
        for index, each in enumerate(wrapped(content, width))
    ]


def legend(entries: Sequence[Entry], left: float, right: float, top: float) -> tuple[str, float]:
    """Signs and names in rows, and how high they are together."""
    parts = []
    x, y = left, top
    for entry in entries:
        name = fitted(entry.name, right - left - SWATCH - 8)
        width = SWATCH + 8 + text_width(name)
        if x > left and x + width > right:
            x, y = left, y + LINE_HEIGHT
        parts.append(swatch(entry.style, x, y + 7))
        parts.append(text(name, x + SWATCH + 6, y + 11.5))
        x += width + 14
    return element("g", "".join(parts), class_="legend"), y - top + LINE_HEIGHT + 6


def swatch(style: Style | None, x: float, y: float) -> str:
    """A short piece of a series' line with its marker."""
    if style is None:
        return line(x, y, x + SWATCH, y, "reference")
    content = line(x, y, x + SWATCH, y, "line") + style.marker(x + SWATCH / 2, y)
    return element("g", content, class_=style.class_name)


def end_labels(ends: Sequence[LineEnd], frame: Frame) -> list[str]:
    """Names beside the ends of their lines, moved apart where they would meet."""
    places = spread([end.y for end in ends], LINE_HEIGHT - 2, frame.top, frame.bottom)
    parts = []
    for end, y in zip(ends, places, strict=True):
        start = frame.right + 14
        if abs(y - end.y) > 3 or frame.right - end.x > 3:
            parts.append(line(end.x + 6, end.y, start - 2, y, "leader"))
        if end.entry.style is not None:
            sign = end.entry.style.marker(start + 5, y)
            parts.append(element("g", sign, class_=end.entry.style.class_name))
            start += 14
        parts.append(text(end.entry.name, start, y + 0.35 * FONT, class_="name"))
    return parts


def end_label_room(entries: Sequence[Entry]) -> float:
    """How much room names beside line ends need."""
    return 30 + max(text_width(entry.name) for entry in entries)
