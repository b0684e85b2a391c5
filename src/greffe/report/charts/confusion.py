"""A confusion matrix: rows are true classes, columns predicted ones. Knows counts and labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from greffe.report.charts.frame import LINE_HEIGHT, label_lines, wrapped
from greffe.report.charts.shapes import ENGLISH, ChartTexts
from greffe.report.charts.svg import (
    FONT,
    Heading,
    Layout,
    drawing,
    element,
    fitted,
    mark,
    no_data,
    svg,
    text,
    text_width,
)

LARGEST_CELL, SMALLEST_CELL = 84.0, 30.0
WIDEST_LABEL = 110.0
DARKEST = 0.55
"""Cells stay light enough for the numbers in them, in both themes."""


def confusion_chart(
    matrix: Sequence[Sequence[float]],
    labels: Sequence[str],
    *,
    ident: str,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
    catalog: ChartTexts = ENGLISH,
) -> str:
    """Counts in cells, shaded by their share of the row."""
    if not labels or not matrix:
        return no_data(ident, catalog)
    assert len(matrix) == len(labels) and all(len(row) == len(labels) for row in matrix)
    cell = max(SMALLEST_CELL, min(LARGEST_CELL, 270 / len(labels)))
    names = min(WIDEST_LABEL, max(text_width(label) for label in labels))
    left = names + 14
    # Names of columns stand upright where they would be wider than their column.
    is_turned = max(text_width(label) for label in labels) > cell - 4
    width = left + cell * len(labels) + 8
    top = 26 + LINE_HEIGHT * (len(wrapped(x_label, width)) - 1) + (names + 14 if is_turned else 26)
    body = label_lines(x_label, left + cell * len(labels) / 2, 16, width, "middle")
    body.append(text(y_label, 2, top - 6, class_="label"))
    for index, label in enumerate(labels):
        middle = (index + 0.5) * cell
        name = fitted(label, names + 1)
        body.append(text(name, left - 8, top + middle + 0.35 * FONT, anchor="end"))
        if is_turned:
            turned = f"translate({left + middle + 0.35 * FONT:.1f} {top - 8:.1f}) rotate(-90)"
            body.append(element("g", text(name, 0, 0), transform=turned))
        else:
            body.append(text(name, left + middle, top - 8, anchor="middle"))
    for row, counts in enumerate(matrix):
        for column, count in enumerate(counts):
            place = (left + column * cell, top + row * cell)
            share = count / sum(counts) if sum(counts) else 0.0
            tip = f"{labels[row]} → {labels[column]}: {_count(count, catalog)}"
            tip += f"\n{catalog.of_row.format(share=catalog.percent(share))}"
            drawn = _cell(place, cell, share, _count(count, catalog), row == column)
            body.append(mark(drawn, tip, row=labels[row], column=labels[column], value=count))
    layout = Layout("square", math.ceil(width))
    heading = Heading(ident, title, description, catalog)
    return drawing([svg(body, heading, layout, top + cell * len(labels) + 8)], ident)


def _cell(place: tuple[float, float], size: float, share: float, count: str, is_right: bool) -> str:
    x, y = place
    shade = element(
        "rect",
        class_="cell right" if is_right else "cell wrong",
        x=x + 1,
        y=y + 1,
        width=size - 2,
        height=size - 2,
        rx=2,
        fill_opacity=f"{DARKEST * share:.3f}",
    )
    if text_width(count) > size - 4:
        return shade
    return shade + text(count, x + size / 2, y + size / 2 + 0.35 * FONT, anchor="middle")


def _count(count: float, catalog: ChartTexts) -> str:
    return catalog.decimal(count, 0 if count == round(count) else 1)
