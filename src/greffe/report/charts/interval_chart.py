"""Means with whiskers, one row each, and the single values behind them as thin marks.

Knows rows, not arms: a row may be an accuracy or a difference between two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from greffe.report.charts.frame import Frame, label_lines, sparse, upright_grid
from greffe.report.charts.scales import Scale, Ticks, even_ticks, share_ticks
from greffe.report.charts.shapes import ENGLISH, ChartTexts, IntervalRow
from greffe.report.charts.styles import Style, styles_of
from greffe.report.charts.svg import (
    FONT,
    LAYOUTS,
    Heading,
    Layout,
    drawing,
    element,
    fitted,
    line,
    mark,
    no_data,
    svg,
    text,
    text_width,
)

WIDEST_NAME = 210.0


@dataclass(frozen=True)
class _Plan:
    """What does not depend on the layout."""

    rows: list[IntervalRow]
    styles: list[Style]
    ticks: Ticks
    x_label: str
    percent: bool
    zero_line: bool
    catalog: ChartTexts

    def said(self, value: float) -> str:
        if not self.percent:
            return self.catalog.plain(value, signed=self.zero_line)
        return self.catalog.signed_points(value) if self.zero_line else self.catalog.percent(value)

    def tick_labels(self) -> list[tuple[float, str]]:
        factor = 100 if self.percent else 1
        decimals = self.ticks.decimals(factor)
        if self.percent and not self.zero_line:
            return [(tick, self.catalog.percent(tick, decimals)) for tick in self.ticks.values]
        return [
            (tick, self.catalog.decimal(factor * tick, decimals, signed=self.zero_line))
            for tick in self.ticks.values
        ]

    def x_title(self) -> str:
        first, label = self.tick_labels()[0]
        note = f" ({self.catalog.axis_from.format(value=label)})" if first > 0 else ""
        return self.x_label + note


def interval_chart(
    rows: Sequence[IntervalRow],
    *,
    ident: str,
    title: str,
    description: str,
    x_label: str,
    percent: bool = True,
    zero_line: bool = False,
    catalog: ChartTexts = ENGLISH,
) -> str:
    """Dots with whiskers; `zero_line` is for differences, which get signs and points."""
    shown = [row for row in rows if all(map(math.isfinite, (row.mean, row.low, row.high)))]
    if not shown:
        return no_data(ident, catalog)
    values = [value for row in shown for value in (row.mean, row.low, row.high, *_single(row))]
    if zero_line:
        values.append(0.0)
    if percent and not zero_line:
        ticks = share_ticks(values, 6)
    else:
        ticks = even_ticks(min(values), max(values), 6)
    styles = styles_of([row.kind for row in shown])
    plan = _Plan(shown, styles, ticks, x_label, percent, zero_line, catalog)
    heading = Heading(ident, title, description, catalog)
    return drawing([_draw(plan, heading, layout) for layout in LAYOUTS], ident)


def _draw(plan: _Plan, heading: Heading, layout: Layout) -> str:
    names = max(text_width(row.name) for row in plan.rows)
    said = max(text_width(plan.said(row.mean)) for row in plan.rows)
    # A narrow drawing has names and means above the rows instead of beside them.
    is_narrow = layout.is_narrow
    edge = 6 + max(text_width(label) for _, label in plan.tick_labels()) / 2
    left = edge if is_narrow else 24 + min(names, WIDEST_NAME)
    right = layout.width - (edge if is_narrow else edge + said)
    row_height = 50 if is_narrow else 38
    frame = Frame(left, 8, right, 12 + row_height * len(plan.rows))
    across = Scale(plan.ticks.values[0], plan.ticks.values[-1], left, right)
    labels = label_lines(
        plan.x_title(), (left + right) / 2, frame.bottom + 42, layout.width - 16, "middle"
    )
    body = [*upright_grid(frame, across, sparse(across, plan.tick_labels()), ruled=True), *labels]
    if plan.zero_line:
        body.append(line(across(0), frame.top, across(0), frame.bottom, "zero"))
    for index, (row, style) in enumerate(zip(plan.rows, plan.styles, strict=True)):
        top = frame.top + 2 + index * row_height
        y = top + (row_height - 14 if is_narrow else row_height / 2)
        said_at = top + 16 if is_narrow else y + 0.35 * FONT
        room = layout.width - said - 36 if is_narrow else WIDEST_NAME
        name_x, anchor = (8, None) if is_narrow else (left - 16, "end")
        body.append(text(fitted(row.name, room), name_x, said_at, anchor=anchor, class_="name"))
        body.append(
            text(plan.said(row.mean), layout.width - 8, said_at, anchor="end", class_="value")
        )
        body.append(_row(row, style, plan, across, y))
    return svg(body, heading, layout, frame.bottom + 34 + 18 * len(labels))


def _row(row: IntervalRow, style: Style, plan: _Plan, across: Scale, y: float) -> str:
    low, high = across(row.low), across(row.high)
    whisker = line(low, y, high, y, "whisker")
    whisker += line(low, y - 5, low, y + 5, "whisker") + line(high, y - 5, high, y + 5, "whisker")
    singles = "".join(
        mark(
            line(across(value), y - 9, across(value), y + 9, "seed"),
            f"{row.name}\n{plan.said(value)}",
            name=row.name,
            value=value,
        )
        for value in _single(row)
    )
    interval = plan.catalog.interval.format(low=plan.said(row.low), high=plan.said(row.high))
    mean = mark(
        whisker + style.marker(across(row.mean), y, 5.5),
        f"{row.name}\n{plan.said(row.mean)} ({interval})",
        class_="mean",
        name=row.name,
        mean=row.mean,
        low=row.low,
        high=row.high,
    )
    return element("g", singles + mean, class_=style.class_name)


def _single(row: IntervalRow) -> list[float]:
    return [value for value in row.values if math.isfinite(value)]
