"""Charts as SVG text, coloured by the page's style sheet; they know figures, not studies.

Every chart takes `ident` (unique on the page), `title` and `description` (for screen readers and
exports) and `catalog` (texts and number formats of the reader's language), and returns one element
to put into HTML. Charts without data return a short paragraph that says so.

- `line_chart`: values along an axis, with bands; `interval_chart`: means with whiskers and seeds
- `bar_chart`, `confusion_chart`, `heat_chart`, `calibration_chart`
- `chart_block`: a chart with caption, export buttons and its table
- `marked_text`: words that spoke for or against a class
"""

from __future__ import annotations

from greffe.report.charts.bars import bar_chart
from greffe.report.charts.block import chart_block
from greffe.report.charts.calibration_chart import calibration_chart
from greffe.report.charts.confusion import confusion_chart
from greffe.report.charts.heat import heat_chart
from greffe.report.charts.interval_chart import interval_chart
from greffe.report.charts.lines import line_chart
from greffe.report.charts.marked import marked_text
from greffe.report.charts.shapes import (
    ENGLISH,
    BarRow,
    CalibrationSeries,
    ChartTexts,
    Heat,
    IntervalRow,
    Point,
    Series,
    distinct_kinds,
)

__all__ = [
    "ENGLISH",
    "BarRow",
    "CalibrationSeries",
    "ChartTexts",
    "Heat",
    "IntervalRow",
    "Point",
    "Series",
    "bar_chart",
    "calibration_chart",
    "chart_block",
    "confusion_chart",
    "distinct_kinds",
    "heat_chart",
    "interval_chart",
    "line_chart",
    "marked_text",
]
