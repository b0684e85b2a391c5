"""Values along an axis as lines: accuracy by epoch or by labels, losses by step.

Knows points and their intervals, not what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from greffe.report.catalog import Catalog
from greffe.report.charts.scales import Scale, apart, even_ticks, fraction_ticks
from greffe.report.charts.styles import Style, styles_of
from greffe.report.charts.svg import (
    LINE_HEIGHT,
    WIDTH,
    Frame,
    Heading,
    axis_title,
    element,
    horizontal_grid,
    label_lines,
    legend,
    line,
    mark,
    marker,
    no_data,
    path,
    svg,
    text,
    text_width,
)

MOST_POINTS = 240
"""Longer lines are thinned."""
MOST_MARKERS = 60


@dataclass(frozen=True)
class Point:
    """One measured value, with its interval if there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None

    def extent(self) -> tuple[float, float, float]:
        """Return value, lowest, highest."""
        low = self.y if self.low is None else self.low
        return self.y, low, self.y if self.high is None else self.high


@dataclass(frozen=True)
class Series:
    """Points of one line, in any order."""

    name: str
    points: Sequence[Point]
    kind: str


def line_chart(
    series: Sequence[Series],
    heading: Heading,
    *,
    x_log: bool = False,
    y_percent: bool = True,
    reference_lines: Sequence[tuple[str, float]] = (),
) -> str:
    """Draw lines with bands; with `x_log`, ticks are at the measured values."""
    series = [
        Series(each.name, _thinned(finite), each.kind)
        for each in series
        if (finite := _finite(each.points))
    ]
    if not series:
        return no_data(heading)
    catalog = heading.catalog
    write = catalog.percent if y_percent else catalog.plain
    values = [value for each in series for point in each.points for value in point.extent()]
    values += [value for _, value in reference_lines]
    ticks = fraction_ticks(values, 6) if y_percent else even_ticks(min(values), max(values), 6)
    y_ticks = ticks.labels(catalog, y_percent)
    styles = styles_of([each.kind for each in series])
    styled = list(zip(series, styles, strict=True))
    references = [(f"{name} {write(value)}", None) for name, value in reference_lines]
    swatches, used = legend([*((each.name, style) for each, style in styled), *references])
    y_title = axis_title(heading.y_label, y_ticks[0], catalog)
    titles = label_lines(y_title, 4, used + 15, WIDTH - 8, "start")
    top = used + LINE_HEIGHT * len(titles) + 14
    frame = Frame(16 + max(text_width(label) for _, label in y_ticks), top, WIDTH - 14, top + 270)
    xs = sorted({point.x for each in series for point in each.points})
    # A logarithm needs positive values; other charts fall back to a linear axis.
    across = Scale(xs[0], xs[-1], frame.left + 12, frame.right - 12, x_log and xs[0] > 0)
    up = Scale(ticks.values[0], ticks.values[-1], frame.bottom, frame.top)
    middle = (frame.left + frame.right) / 2
    labels = label_lines(heading.x_label, middle, frame.bottom + 42, WIDTH - 16, "middle")
    body = [
        swatches,
        *titles,
        *horizontal_grid(frame, up, y_ticks),
        *_x_ticks(xs, x_log, frame, across, catalog),
        line(frame.left, frame.bottom, frame.right, frame.bottom, "axis"),
        *labels,
        *(line(frame.left, up(y), frame.right, up(y), "reference") for _, y in reference_lines),
        *(_band(each.points, style, across, up) for each, style in styled),
        *(_line(each.points, style, across, up) for each, style in styled),
    ]
    for each, style in styled:
        marks = []
        for point in each.points:
            value = write(point.y)
            if point.low is not None and point.high is not None:
                value += f" ({catalog.interval(write(point.low), write(point.high))})"
            tip = f"{each.name}\n{heading.x_label}: {catalog.plain(point.x)}\n{value}"
            x, y = across(point.x), up(point.y)
            sign = "" if _is_dense(each.points) else marker(style, x, y)
            sign += element("circle", class_="hit", cx=x, cy=y, r=9)
            low, high = point.low, point.high
            marks.append(
                mark(sign, tip, series=each.name, x=point.x, y=point.y, low=low, high=high)
            )
        body.append(element("g", "".join(marks), class_=style.class_name))
    return svg(body, heading, frame.bottom + 34 + LINE_HEIGHT * len(labels))


def _x_ticks(
    xs: Sequence[float], x_log: bool, frame: Frame, across: Scale, catalog: Catalog
) -> list[str]:
    if x_log or len(xs) <= 2:
        labels = {x: catalog.plain(x) for x in xs}
    else:
        is_whole = all(x == round(x) for x in xs)
        ticks = even_ticks(xs[0], xs[-1], 9, whole=is_whole)
        inside = [tick for tick in ticks.values if xs[0] <= tick <= xs[-1]]
        # Values that hardly differ have no round number between them.
        labels = {tick: catalog.decimal(tick, ticks.decimals()) for tick in inside or xs[-1:]}
    widest = max(text_width(label) for label in labels.values())
    parts = []
    for value in apart(list(labels), [across(value) for value in labels], widest + 10):
        x = across(value)
        parts.append(line(x, frame.bottom, x, frame.bottom + 4, "axis"))
        parts.append(text(labels[value], x, frame.bottom + 19, anchor="middle", class_="tick"))
    return parts


def _band(points: Sequence[Point], style: Style, across: Scale, up: Scale) -> str:
    covered = [point for point in points if point.low is not None and point.high is not None]
    if not covered:
        return ""
    edges = [(across(point.x), *map(up, point.extent()[1:])) for point in covered]
    if len(edges) == 1:
        x, low, high = edges[0]
        band = line(x, low, x, high, "whisker")
    else:
        outline = [(x, high) for x, _, high in edges] + [(x, low) for x, low, _ in edges[::-1]]
        band = element("path", class_="band", d=f"{path(outline)}Z")
    return element("g", band, class_=style.class_name)


def _line(points: Sequence[Point], style: Style, across: Scale, up: Scale) -> str:
    way = path((across(point.x), up(point.y)) for point in points)
    class_name = "line dense" if _is_dense(points) else "line"
    return element("g", element("path", class_=class_name, d=way), class_=style.class_name)


def _is_dense(points: Sequence[Point]) -> bool:
    return len(points) > MOST_MARKERS


def _finite(points: Sequence[Point]) -> list[Point]:
    """Return the points that can be drawn, in order."""
    finite = [point for point in points if all(map(math.isfinite, (point.x, *point.extent())))]
    return sorted(finite, key=lambda point: point.x)


def _thinned(points: list[Point]) -> list[Point]:
    """Return at most `MOST_POINTS`: both ends, and the lowest and highest of each stretch."""
    if len(points) <= MOST_POINTS:
        return points
    size = math.ceil(2 * (len(points) - 2) / (MOST_POINTS - 2))
    chosen = {0, len(points) - 1}
    for start in range(1, len(points) - 1, size):
        stretch = range(start, min(start + size, len(points) - 1))
        chosen |= {min(stretch, key=lambda i: points[i].y), max(stretch, key=lambda i: points[i].y)}
    return [points[index] for index in sorted(chosen)]
