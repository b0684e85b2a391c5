"""A confusion matrix: rows are true classes, columns predicted ones. Knows counts and labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from greffe.report.charts.svg import (
    LINE_HEIGHT,
    MIDDLE,
    Heading,
    element,
    fitted,
    label_lines,
    mark,
    no_data,
    svg,
    text,
    text_width,
    wrapped,
)

LARGEST_CELL, SMALLEST_CELL = 84.0, 30.0
WIDEST_LABEL = 110.0
DARKEST = 0.55
"""Opacity of the darkest cell: the numbers in it can be read in both themes."""


def confusion_chart(
    matrix: Sequence[Sequence[float]], labels: Sequence[str], heading: Heading
) -> str:
    """Draw counts in cells, shaded by their fraction of the row."""
    if not labels or not matrix:
        return no_data(heading)
    assert len(matrix) == len(labels) and all(len(row) == len(labels) for row in matrix)
    catalog = heading.catalog
    size = max(SMALLEST_CELL, min(LARGEST_CELL, 270 / len(labels)))
    widest = max(text_width(label) for label in labels)
    names = min(WIDEST_LABEL, widest)
    left = names + 14
    # Names that are wider than their column are written vertically.
    is_vertical = widest > size - 4
    width = left + size * len(labels) + 8
    title_lines = len(wrapped(heading.x_label, width))
    top = 26 + LINE_HEIGHT * (title_lines - 1) + (names + 14 if is_vertical else 26)
    body = label_lines(heading.x_label, left + size * len(labels) / 2, 16, width, "middle")
    body.append(text(heading.y_label, 2, top - 6, class_="label"))
    for index, label in enumerate(labels):
        middle = (index + 0.5) * size
        name = fitted(label, names + 1)
        body.append(text(name, left - 8, top + middle + MIDDLE, anchor="end"))
        if is_vertical:
            turned = f"translate({left + middle + MIDDLE:.1f} {top - 8:.1f}) rotate(-90)"
            body.append(element("g", text(name, 0, 0), transform=turned))
        else:
            body.append(text(name, left + middle, top - 8, anchor="middle"))
    for row, counts in enumerate(matrix):
        for column, count in enumerate(counts):
            x, y = left + column * size, top + row * size
            fraction = count / sum(counts) if sum(counts) else 0.0
            written = catalog.decimal(count, 0 if count == round(count) else 1)
            tip = f"{labels[row]} → {labels[column]}: {written}"
            tip += f"\n{catalog('chart.of_row', fraction=catalog.percent(fraction))}"
            cell = element(
                "rect",
                class_="cell right" if row == column else "cell wrong",
                x=x + 1,
                y=y + 1,
                width=size - 2,
                height=size - 2,
                rx=2,
                fill_opacity=f"{DARKEST * fraction:.3f}",
            )
            if text_width(written) <= size - 4:
                cell += text(written, x + size / 2, y + size / 2 + MIDDLE, anchor="middle")
            body.append(mark(cell, tip, row=labels[row], column=labels[column], value=count))
    return svg(body, heading, top + size * len(labels) + 8, math.ceil(width))
