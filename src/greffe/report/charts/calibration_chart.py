"""How sure predictions were against how often they were right. Knows bins, not models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from greffe.report.charts.frame import (
    LINE_HEIGHT,
    Entry,
    Frame,
    label_lines,
    legend,
    level_grid,
    upright_grid,
)
from greffe.report.charts.scales import Scale, share_ticks
from greffe.report.charts.shapes import ENGLISH, CalibrationSeries, ChartTexts
from greffe.report.charts.styles import Style, styles_of
from greffe.report.charts.svg import (
    Heading,
    Layout,
    coordinate,
    drawing,
    element,
    line,
    mark,
    no_data,
    svg,
)

if TYPE_CHECKING:
    from greffe.study.document import CalibrationBin

SQUARE = Layout("square", 380)
SIDE = 290.0
SMALLEST, LARGEST = 3.0, 7.5
"""Radii of markers: larger ones stand for more texts."""


def calibration_chart(
    series: Sequence[CalibrationSeries],
    *,
    ident: str,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
    catalog: ChartTexts = ENGLISH,
) -> str:
    """A line per arm; a model as sure as it is right lies on the diagonal."""
    shown = [
        CalibrationSeries(each.name, _filled(each.bins), each.kind)
        for each in series
        if _filled(each.bins)
    ]
    if not shown:
        return no_data(ident, catalog)
    bins = [each for one in shown for each in one.bins]
    ticks = share_ticks([1.0, *(v for each in bins for v in (each.confidence, each.accuracy))], 6)
    styles = styles_of([each.kind for each in shown])
    entries = [Entry(each.name, style) for each, style in zip(shown, styles, strict=True)]
    signs, used = legend([*entries, Entry(catalog.perfect, None)], 4, SQUARE.width - 4, 2)
    decimals = ticks.decimals(100)
    labels = [(tick, catalog.percent(tick, decimals)) for tick in ticks.values]
    note = f" ({catalog.axis_from.format(value=labels[0][1])})" if ticks.values[0] > 0 else ""
    frame = Frame(60, used + 32, 60 + SIDE, used + 32 + SIDE)
    across = Scale(ticks.values[0], ticks.values[-1], frame.left, frame.right)
    up = Scale(ticks.values[0], ticks.values[-1], frame.bottom, frame.top)
    below = label_lines(
        x_label + note, (frame.left + frame.right) / 2, frame.bottom + 42, SQUARE.width, "middle"
    )
    body = [
        signs,
        *label_lines(y_label + note, 4, used + 14, SQUARE.width, "start"),
        *level_grid(frame, up, labels),
        *upright_grid(frame, across, labels, ruled=True),
        line(frame.left, frame.bottom, frame.right, frame.top, "reference"),
        *below,
    ]
    most = max(each.count for each in bins)
    for each, style in zip(shown, styles, strict=True):
        body.append(_series(each, style, across, up, most, catalog))
    heading = Heading(ident, title, description, catalog)
    height = frame.bottom + 34 + LINE_HEIGHT * len(below)
    return drawing([svg(body, heading, SQUARE, height)], ident)


def _series(
    series: CalibrationSeries,
    style: Style,
    across: Scale,
    up: Scale,
    most: int,
    catalog: ChartTexts,
) -> str:
    places = [(across(each.confidence), up(each.accuracy)) for each in series.bins]
    way = "M" + "L".join(f"{coordinate(x)},{coordinate(y)}" for x, y in places)
    parts = [element("path", class_="line", d=way)]
    for each, (x, y) in zip(series.bins, places, strict=True):
        radius = SMALLEST + (LARGEST - SMALLEST) * math.sqrt(each.count / most)
        count = catalog.texts.format(count=catalog.decimal(each.count, 0))
        said = f"{catalog.percent(each.confidence)} → {catalog.percent(each.accuracy)}"
        parts.append(
            mark(
                style.marker(x, y, radius),
                f"{series.name}\n{said}\n{count}",
                series=series.name,
                x=each.confidence,
                y=each.accuracy,
                count=str(each.count),
            )
        )
    return element("g", "".join(parts), class_=style.class_name)


def _filled(bins: Sequence[CalibrationBin]) -> list[CalibrationBin]:
    kept = [each for each in bins if each.count and math.isfinite(each.confidence)]
    return sorted(kept, key=lambda each: each.confidence)
