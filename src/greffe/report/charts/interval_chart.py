"""Means with whiskers, one row each, and the single values behind them as thin marks.

Knows rows, not arms: a row may be an accuracy or a difference between two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from greffe.evaluation.intervals import Estimate
from greffe.report.catalog import Catalog
from greffe.report.charts.scales import Scale, even_ticks, fraction_ticks
from greffe.report.charts.styles import Style, styles_of
from greffe.report.charts.svg import (
    MIDDLE,
    WIDEST_NAME,
    WIDTH,
    Frame,
    Heading,
    axis_title,
    element,
    fitted,
    label_lines,
    line,
    mark,
    marker,
    no_data,
    svg,
    text,
    text_width,
    vertical_grid,
)

ROW = 38.0


@dataclass(frozen=True)
class IntervalRow:
    """An estimate to draw; without single values, a known number."""

    name: str
    estimate: Estimate
    kind: str


def interval_chart(
    rows: Sequence[IntervalRow], heading: Heading, *, percent: bool = True, zero_line: bool = False
) -> str:
    """Draw dots with whiskers; `zero_line` is for differences, which get signs and points."""
    if not rows:
        return no_data(heading)
    catalog = heading.catalog
    write: Callable[[float], str] = catalog.percent
    if zero_line:
        write = partial(catalog.counted_points, signed=True)
    elif not percent:
        write = catalog.plain
    values = [value for row in rows for value in (*row.estimate.values, *_extent(row.estimate))]
    if zero_line:
        values.append(0.0)
    if percent and not zero_line:
        ticks = fraction_ticks(values, 6)
        tick_labels = ticks.labels(catalog, percent=True)
    else:
        ticks = even_ticks(min(values), max(values), 6)
        # The axis label names the unit of differences: points.
        factor = 100 if zero_line else 1
        digits = ticks.decimals(factor)
        tick_labels = [
            (tick, catalog.decimal(factor * tick, digits, signed=zero_line))
            for tick in ticks.values
        ]
    left = 24 + min(max(text_width(row.name) for row in rows), WIDEST_NAME)
    edge = 6 + max(text_width(label) for _, label in tick_labels) / 2
    right = WIDTH - edge - max(text_width(write(row.estimate.mean)) for row in rows)
    frame = Frame(left, 8, right, 12 + ROW * len(rows))
    scale = Scale(ticks.values[0], ticks.values[-1], left, right)
    title = axis_title(heading.x_label, tick_labels[0], catalog)
    labels = label_lines(title, (left + right) / 2, frame.bottom + 42, WIDTH - 16, "middle")
    body = [*vertical_grid(frame, scale, tick_labels), *labels]
    if zero_line:
        body.append(line(scale(0), frame.top, scale(0), frame.bottom, "zero"))
    styles = styles_of([row.kind for row in rows])
    for index, (row, style) in enumerate(zip(rows, styles, strict=True)):
        y = frame.top + 2 + (index + 0.5) * ROW
        name, value = fitted(row.name, WIDEST_NAME), write(row.estimate.mean)
        body.append(text(name, left - 16, y + MIDDLE, anchor="end", class_="name"))
        body.append(text(value, WIDTH - 8, y + MIDDLE, anchor="end", class_="value"))
        body.append(_row(row, style, write, scale, y, catalog))
    return svg(body, heading, frame.bottom + 34 + 18 * len(labels))


def _row(
    row: IntervalRow,
    style: Style,
    write: Callable[[float], str],
    scale: Scale,
    y: float,
    catalog: Catalog,
) -> str:
    mean, low, high = _extent(row.estimate)
    left, right = scale(low), scale(high)
    whisker = line(left, y, right, y, "whisker")
    whisker += line(left, y - 5, left, y + 5, "whisker")
    whisker += line(right, y - 5, right, y + 5, "whisker")
    singles = "".join(
        mark(
            line(scale(value), y - 9, scale(value), y + 9, "seed"),
            f"{row.name}\n{write(value)}",
            name=row.name,
            value=value,
        )
        for value in row.estimate.values
    )
    dot = mark(
        whisker + marker(style, scale(mean), y, 5.5),
        f"{row.name}\n{write(mean)} ({catalog.interval(write(low), write(high))})",
        class_="mean",
        name=row.name,
        mean=mean,
        low=low,
        high=high,
    )
    return element("g", singles + dot, class_=style.class_name)


def _extent(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.mean, estimate.low, estimate.high
