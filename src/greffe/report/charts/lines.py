"""Values along an axis as lines: accuracy by epoch or by labels, losses by step.

Knows points and their intervals, not what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from greffe.report.charts.frame import (
    LINE_HEIGHT,
    Entry,
    Frame,
    LineEnd,
    end_label_room,
    end_labels,
    label_lines,
    legend,
    level_grid,
    upright_grid,
    wrapped,
)
from greffe.report.charts.scales import Scale, Ticks, apart, even_ticks, share_ticks
from greffe.report.charts.shapes import ENGLISH, ChartTexts, Point, Series
from greffe.report.charts.styles import Style, styles_of
from greffe.report.charts.svg import (
    LAYOUTS,
    Heading,
    Layout,
    coordinate,
    drawing,
    element,
    line,
    mark,
    no_data,
    svg,
    text_width,
)

MOST_POINTS = 240
"""Of a longer line, what stands out in each stretch is kept."""
MOST_MARKERS = 60
WIDEST_NAME = 200.0


@dataclass(frozen=True)
class _Plan:
    """What does not depend on the layout."""

    series: list[Series]
    styles: list[Style]
    references: list[tuple[str, float]]
    ticks: Ticks
    x_label: str
    y_label: str
    x_log: bool
    y_percent: bool
    catalog: ChartTexts

    def y_text(self, value: float) -> str:
        return self.catalog.percent(value) if self.y_percent else self.catalog.plain(value)

    def y_ticks(self) -> list[tuple[float, str]]:
        write = self.catalog.percent if self.y_percent else self.catalog.decimal
        decimals = self.ticks.decimals(100 if self.y_percent else 1)
        return [(tick, write(tick, decimals)) for tick in self.ticks.values]

    def y_title(self) -> str:
        first, label = self.y_ticks()[0]
        note = f" ({self.catalog.axis_from.format(value=label)})" if first > 0 else ""
        return self.y_label + note

    def entries(self) -> list[Entry]:
        named = zip(self.series, self.styles, strict=True)
        entries = [Entry(each.name, style) for each, style in named]
        return entries + [
            Entry(f"{name} {self.y_text(value)}", None) for name, value in self.references
        ]


def line_chart(
    series: Sequence[Series],
    *,
    ident: str,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
    x_log: bool = False,
    y_percent: bool = True,
    reference_lines: Sequence[tuple[str, float]] = (),
    catalog: ChartTexts = ENGLISH,
) -> str:
    """Lines with bands; with `x_log`, ticks stand at the measured places."""
    shown = [
        Series(each.name, _thinned(_finite(each.points)), each.kind)
        for each in series
        if _finite(each.points)
    ]
    if not shown:
        return no_data(ident, catalog)
    references = [(name, value) for name, value in reference_lines if math.isfinite(value)]
    values = [value for each in shown for point in each.points for value in _extent(point)]
    values += [value for _, value in references]
    ticks = share_ticks(values, 6) if y_percent else even_ticks(min(values), max(values), 6)
    styles = styles_of([each.kind for each in shown])
    plan = _Plan(shown, styles, references, ticks, x_label, y_label, x_log, y_percent, catalog)
    heading = Heading(ident, title, description, catalog)
    return drawing([_draw(plan, heading, layout) for layout in LAYOUTS], ident)


def _draw(plan: _Plan, heading: Heading, layout: Layout) -> str:
    entries = plan.entries()
    # Names stand at the line ends where there is room for them, else above the plot.
    is_direct = not layout.is_narrow and end_label_room(entries) <= WIDEST_NAME + 30
    left = 16 + max(text_width(label) for _, label in plan.y_ticks())
    right = layout.width - (end_label_room(entries) if is_direct else 14)
    signs, signs_height = ("", 0.0) if is_direct else legend(entries, 4, layout.width - 4, 2)
    titles = wrapped(plan.y_title(), layout.width - 8)
    top = signs_height + LINE_HEIGHT * len(titles) + 14
    frame = Frame(left, top, right, top + (210 if layout.is_narrow else 270))
    across, up = (
        _x_scale(plan, frame),
        Scale(plan.ticks.values[0], plan.ticks.values[-1], frame.bottom, frame.top),
    )
    labels = label_lines(
        plan.x_label, (left + right) / 2, frame.bottom + 42, right - left + 40, "middle"
    )
    body = [
        signs,
        *label_lines(plan.y_title(), 4, signs_height + 15, layout.width - 8, "start"),
        *level_grid(frame, up, plan.y_ticks()),
        *upright_grid(frame, across, _x_ticks(plan, across), ruled=False),
        line(left, frame.bottom, right, frame.bottom, "axis"),
        *labels,
    ]
    body += [line(left, up(value), right, up(value), "reference") for _, value in plan.references]
    named = list(zip(plan.series, plan.styles, strict=True))
    body += [_band(each.points, style, across, up) for each, style in named]
    body += [_line(each.points, style, across, up) for each, style in named]
    body += [_marks(each, style, plan, across, up) for each, style in named]
    if is_direct:
        ends = [(across(each.points[-1].x), up(each.points[-1].y)) for each in plan.series]
        ends += [(right, up(value)) for _, value in plan.references]
        body += end_labels(
            [LineEnd(entry, x, y) for entry, (x, y) in zip(entries, ends, strict=True)], frame
        )
    return svg(body, heading, layout, frame.bottom + 34 + LINE_HEIGHT * len(labels))


# --- the horizontal axis ------------------------------------------------------------------------


def _x_scale(plan: _Plan, frame: Frame) -> Scale:
    xs = [point.x for each in plan.series for point in each.points]
    # A logarithm needs positive values; a chart with none of them falls back to a plain axis.
    is_log = plan.x_log and min(xs) > 0
    return Scale(min(xs), max(xs), frame.left + 12, frame.right - 12, is_log)


def _x_ticks(plan: _Plan, across: Scale) -> list[tuple[float, str]]:
    measured = sorted({point.x for each in plan.series for point in each.points})
    if plan.x_log or len(measured) <= 2:
        labels = {value: plan.catalog.plain(value) for value in measured}
    else:
        most = max(2, min(9, int((across.end - across.start) / 48)))
        is_whole = all(value == round(value) for value in measured)
        ticks = even_ticks(across.low, across.high, most, whole=is_whole)
        decimals = ticks.decimals()
        inside = [tick for tick in ticks.values if across.low <= tick <= across.high]
        # Places that hardly differ have no round number between them.
        labels = {tick: plan.catalog.decimal(tick, decimals) for tick in inside or measured[-1:]}
    values = list(labels)
    widest = max(text_width(label) for label in labels.values())
    kept = apart(values, [across(value) for value in values], widest + 10)
    return [(value, labels[value]) for value in kept]


# --- marks --------------------------------------------------------------------------------------


def _band(points: Sequence[Point], style: Style, across: Scale, up: Scale) -> str:
    covered = [point for point in points if point.low is not None and point.high is not None]
    if not covered:
        return ""
    if len(covered) == 1:
        x, (_, low, high) = across(covered[0].x), _extent(covered[0])
        return element("g", line(x, up(low), x, up(high), "whisker"), class_=style.class_name)
    upper = [(point.x, _extent(point)[2]) for point in covered]
    lower = [(point.x, _extent(point)[1]) for point in reversed(covered)]
    outline = _path(upper + lower, across, up) + "Z"
    return element("g", element("path", class_="band", d=outline), class_=style.class_name)


def _line(points: Sequence[Point], style: Style, across: Scale, up: Scale) -> str:
    way = _path([(point.x, point.y) for point in points], across, up)
    class_name = "line dense" if _is_dense(points) else "line"
    return element("g", element("path", class_=class_name, d=way), class_=style.class_name)


def _is_dense(points: Sequence[Point]) -> bool:
    return len(points) > MOST_MARKERS


def _path(places: Sequence[tuple[float, float]], across: Scale, up: Scale) -> str:
    corners = (f"{coordinate(across(x))},{coordinate(up(y))}" for x, y in places)
    return "M" + "L".join(corners)


def _marks(series: Series, style: Style, plan: _Plan, across: Scale, up: Scale) -> str:
    parts = []
    for point in series.points:
        x, y = across(point.x), up(point.y)
        sign = "" if _is_dense(series.points) else style.marker(x, y)
        sign += element("circle", class_="hit", cx=x, cy=y, r=9)
        tip = f"{series.name}\n{plan.x_label}: {plan.catalog.plain(point.x)}\n{_value(point, plan)}"
        parts.append(
            mark(
                sign,
                tip,
                series=series.name,
                x=point.x,
                y=point.y,
                low=point.low,
                high=point.high,
            )
        )
    return element("g", "".join(parts), class_=style.class_name)


def _value(point: Point, plan: _Plan) -> str:
    said = plan.y_text(point.y)
    if point.low is None or point.high is None:
        return said
    low, high = plan.y_text(point.low), plan.y_text(point.high)
    return f"{said} ({plan.catalog.interval.format(low=low, high=high)})"


# --- points -------------------------------------------------------------------------------------


def _extent(point: Point) -> tuple[float, float, float]:
    """Value, lowest, highest."""
    low = point.y if point.low is None else point.low
    return point.y, low, point.y if point.high is None else point.high


def _finite(points: Sequence[Point]) -> list[Point]:
    """Points in order, without those that cannot be drawn."""
    kept = [point for point in points if all(map(math.isfinite, (point.x, *_extent(point))))]
    return sorted(kept, key=lambda point: point.x)


def _thinned(points: list[Point]) -> list[Point]:
    """At most `MOST_POINTS`: both ends, and the lowest and highest of each stretch."""
    if len(points) <= MOST_POINTS:
        return points
    size = math.ceil(2 * (len(points) - 2) / (MOST_POINTS - 2))
    kept = {0, len(points) - 1}
    for start in range(1, len(points) - 1, size):
        stretch = range(start, min(start + size, len(points) - 1))
        kept |= {min(stretch, key=lambda i: points[i].y), max(stretch, key=lambda i: points[i].y)}
    return [points[index] for index in sorted(kept)]
