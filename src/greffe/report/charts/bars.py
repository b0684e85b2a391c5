"""Lengths from zero: what something cost, how far layers moved. Knows rows, not what they mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from greffe.report.charts.frame import Entry, Frame, label_lines, legend, sparse, upright_grid
from greffe.report.charts.scales import Scale, Ticks, even_ticks
from greffe.report.charts.shapes import ENGLISH, BarRow, ChartTexts
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

BAR, THICKNESS = 20.0, 9.0
WIDEST_NAME = 210.0


@dataclass(frozen=True)
class _Plan:
    """What does not depend on the layout."""

    groups: dict[str, list[BarRow]]
    styles: dict[tuple[str, str], Style]
    """By kind and series."""
    ticks: Ticks
    x_label: str
    percent: bool
    catalog: ChartTexts

    def said(self, row: BarRow) -> str:
        if row.text:
            return row.text
        write = self.catalog.percent if self.percent else self.catalog.plain
        return write(row.value)

    def tick_labels(self) -> list[tuple[float, str]]:
        write = self.catalog.percent if self.percent else self.catalog.decimal
        decimals = self.ticks.decimals(100 if self.percent else 1)
        return [(tick, write(tick, decimals)) for tick in self.ticks.values]


def bar_chart(
    rows: Sequence[BarRow],
    *,
    ident: str,
    title: str,
    description: str,
    x_label: str,
    percent: bool = False,
    catalog: ChartTexts = ENGLISH,
) -> str:
    """Bars from zero, grouped by name, with their values at their ends."""
    shown = [row for row in rows if math.isfinite(row.value)]
    if not shown:
        return no_data(ident, catalog)
    groups: dict[str, list[BarRow]] = {}
    for row in shown:
        groups.setdefault(row.name, []).append(row)
    # One series, one sign: rows without a series are told apart by kind.
    keys = list(dict.fromkeys((row.kind, row.series) for row in shown))
    styles = dict(zip(keys, styles_of([kind for kind, _ in keys]), strict=True))
    values = [row.value for row in shown]
    ticks = even_ticks(min(0.0, *values), max(0.0, *values), 5)
    plan = _Plan(groups, styles, ticks, x_label, percent, catalog)
    heading = Heading(ident, title, description, catalog)
    return drawing([_draw(plan, heading, layout) for layout in LAYOUTS], ident)


def _draw(plan: _Plan, heading: Heading, layout: Layout) -> str:
    rows = [row for group in plan.groups.values() for row in group]
    said = 16 + max(text_width(plan.said(row)) for row in rows)
    names = max(text_width(name) for name in plan.groups)
    is_narrow = layout.is_narrow
    left = 14 if is_narrow else 22 + min(names, WIDEST_NAME)
    entries = [Entry(series, style) for (_, series), style in plan.styles.items() if series]
    signs, top = legend(entries, 4, layout.width - 4, 2) if len(entries) > 1 else ("", 0.0)
    head = 20 if is_narrow else 0
    heights = {name: BAR * len(group) + 10 + head for name, group in plan.groups.items()}
    frame = Frame(left, top + 6, layout.width - said, top + 8 + sum(heights.values()))
    across = Scale(plan.ticks.values[0], plan.ticks.values[-1], left, frame.right)
    labels = label_lines(
        plan.x_label, (left + frame.right) / 2, frame.bottom + 42, layout.width - 16, "middle"
    )
    body = [
        signs,
        *upright_grid(frame, across, sparse(across, plan.tick_labels()), ruled=True),
        *labels,
    ]
    y = frame.top
    for name, group in plan.groups.items():
        if is_narrow:
            body.append(text(fitted(name, layout.width - 24), left + 5, y + 17, class_="name"))
        else:
            middle = y + heights[name] / 2 + 0.35 * FONT
            body.append(
                text(fitted(name, WIDEST_NAME), left - 10, middle, anchor="end", class_="name")
            )
        for index, row in enumerate(group):
            body.append(_bar(row, plan, across, y + head + 5 + (index + 0.5) * BAR))
        y += heights[name]
    body.append(line(across(0), frame.top, across(0), frame.bottom, "zero"))
    return svg(body, heading, layout, frame.bottom + 34 + 18 * len(labels))


def _bar(row: BarRow, plan: _Plan, across: Scale, y: float) -> str:
    style = plan.styles[row.kind, row.series]
    start, end = sorted((across(0), across(row.value)))
    bar = element(
        "rect", class_="bar", x=start, y=y - THICKNESS / 2, width=end - start, height=THICKNESS
    )
    named = f"{row.name}, {row.series}" if row.series else row.name
    content = bar + style.marker(across(row.value), y, 5)
    content += text(plan.said(row), end + 10, y + 0.35 * FONT, class_="value")
    return mark(
        content,
        f"{named}\n{plan.said(row)}",
        class_=style.class_name,
        name=row.name,
        series=row.series or None,
        value=row.value,
    )
