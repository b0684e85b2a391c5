"""Confidence of predictions against their accuracy. Knows bins, not models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from greffe.report.catalog import Catalog
from greffe.report.charts.scales import Scale, fraction_ticks
from greffe.report.charts.styles import Style, styles_of
from greffe.report.charts.svg import (
    LINE_HEIGHT,
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
    vertical_grid,
)

if TYPE_CHECKING:
    from greffe.study.document import CalibrationBin

WIDTH, SIDE = 380.0, 290.0
SMALLEST, LARGEST = 3.0, 7.5
"""Radii of markers: the more texts, the larger."""


@dataclass(frozen=True)
class CalibrationSeries:
    """The calibration of one arm."""

    name: str
    bins: Sequence[CalibrationBin]
    kind: str


def calibration_chart(series: Sequence[CalibrationSeries], heading: Heading) -> str:
    """Draw a line per arm; a perfectly calibrated model is on the diagonal."""
    catalog = heading.catalog
    series = [
        CalibrationSeries(each.name, filled, each.kind)
        for each in series
        if (filled := _filled(each.bins))
    ]
    if not series:
        return no_data(heading)
    bins = [each for one in series for each in one.bins]
    values = [value for each in bins for value in (each.confidence, each.accuracy)]
    ticks = fraction_ticks([1.0, *values], 6)
    labels = ticks.labels(catalog, percent=True)
    styles = styles_of([each.kind for each in series])
    named = [(each.name, style) for each, style in zip(series, styles, strict=True)]
    swatches, used = legend([*named, (catalog("chart.perfect"), None)], WIDTH)
    frame = Frame(60, used + 32, 60 + SIDE, used + 32 + SIDE)
    across = Scale(ticks.values[0], ticks.values[-1], frame.left, frame.right)
    up = Scale(ticks.values[0], ticks.values[-1], frame.bottom, frame.top)
    x_title, y_title = (
        axis_title(label, labels[0], catalog) for label in (heading.x_label, heading.y_label)
    )
    middle = (frame.left + frame.right) / 2
    below = label_lines(x_title, middle, frame.bottom + 42, WIDTH, "middle")
    body = [
        swatches,
        *label_lines(y_title, 4, used + 14, WIDTH, "start"),
        *horizontal_grid(frame, up, labels),
        *vertical_grid(frame, across, labels),
        line(frame.left, frame.bottom, frame.right, frame.top, "reference"),
        *below,
    ]
    most = max(each.count for each in bins)
    for each, style in zip(series, styles, strict=True):
        body.append(_series(each, style, across, up, most, catalog))
    return svg(body, heading, frame.bottom + 34 + LINE_HEIGHT * len(below), WIDTH)


def _series(
    series: CalibrationSeries, style: Style, across: Scale, up: Scale, most: int, catalog: Catalog
) -> str:
    points = [(across(each.confidence), up(each.accuracy)) for each in series.bins]
    parts = [element("path", class_="line", d=path(points))]
    for each, (x, y) in zip(series.bins, points, strict=True):
        radius = SMALLEST + (LARGEST - SMALLEST) * math.sqrt(each.count / most)
        values = f"{catalog.percent(each.confidence)} → {catalog.percent(each.accuracy)}"
        parts.append(
            mark(
                marker(style, x, y, radius),
                f"{series.name}\n{values}\n{catalog.counted(each.count, 'text')}",
                series=series.name,
                x=each.confidence,
                y=each.accuracy,
                count=each.count,
            )
        )
    return element("g", "".join(parts), class_=style.class_name)


def _filled(bins: Sequence[CalibrationBin]) -> list[CalibrationBin]:
    filled = [each for each in bins if each.count]
    return sorted(filled, key=lambda each: each.confidence)
