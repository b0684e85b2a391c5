"""Bars from zero: what something cost, how far layers moved. Knows rows, not what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greffe.report.charts.scales import Scale, even_ticks
from greffe.report.charts.styles import styles_of
from greffe.report.charts.svg import (
    MIDDLE,
    WIDEST_NAME,
    WIDTH,
    Frame,
    Heading,
    element,
    fitted,
    label_lines,
    legend,
    line,
    mark,
    marker,
    no_data,
    svg,
    text,
    text_width,
    vertical_grid,
)

ROW, THICKNESS = 20.0, 9.0


@dataclass(frozen=True)
class BarRow:
    """One bar; rows of the same name are drawn together, told apart by `series`."""

    name: str
    value: float
    text: str
    """The value as written at the end of the bar."""
    kind: str = ""
    series: str = ""


def bar_chart(rows: Sequence[BarRow], heading: Heading, *, percent: bool = False) -> str:
    """Draw bars from zero, grouped by name, with their values at their ends."""
    if not rows:
        return no_data(heading)
    groups: dict[str, list[BarRow]] = {}
    for row in rows:
        groups.setdefault(row.name, []).append(row)
    # Each series has one marker; rows without a series are told apart by kind.
    keys = list(dict.fromkeys((row.kind, row.series) for row in rows))
    styles = dict(zip(keys, styles_of([kind for kind, _ in keys]), strict=True))
    entries = [(series, style) for (_, series), style in styles.items() if series]
    swatches, top = legend(entries) if len(entries) > 1 else ("", 0.0)
    left = 22 + min(max(text_width(name) for name in groups), WIDEST_NAME)
    right = WIDTH - 16 - max(text_width(row.text) for row in rows)
    frame = Frame(left, top + 6, right, top + 8 + ROW * len(rows) + 10 * len(groups))
    values = [row.value for row in rows]
    ticks = even_ticks(min(0.0, *values), max(0.0, *values), 5)
    scale = Scale(ticks.values[0], ticks.values[-1], left, right)
    middle = (left + right) / 2
    labels = label_lines(heading.x_label, middle, frame.bottom + 42, WIDTH - 16, "middle")
    body = [swatches, *vertical_grid(frame, scale, ticks.labels(heading.catalog, percent)), *labels]
    y = frame.top
    for name, group in groups.items():
        height = ROW * len(group) + 10
        baseline = y + height / 2 + MIDDLE
        body.append(
            text(fitted(name, WIDEST_NAME), left - 10, baseline, anchor="end", class_="name")
        )
        for index, row in enumerate(group):
            style = styles[row.kind, row.series]
            center = y + 5 + (index + 0.5) * ROW
            start, end = sorted((scale(0), scale(row.value)))
            top = center - THICKNESS / 2
            bar = element("rect", class_="bar", x=start, y=top, width=end - start, height=THICKNESS)
            bar += marker(style, scale(row.value), center, 5)
            bar += text(row.text, end + 10, center + MIDDLE, class_="value")
            full = f"{name}, {row.series}" if row.series else name
            body.append(
                mark(
                    bar,
                    f"{full}\n{row.text}",
                    class_=style.class_name,
                    name=name,
                    series=row.series or None,
                    value=row.value,
                )
            )
        y += height
    body.append(line(scale(0), frame.top, scale(0), frame.bottom, "zero"))
    return svg(body, heading, frame.bottom + 34 + 18 * len(labels))
