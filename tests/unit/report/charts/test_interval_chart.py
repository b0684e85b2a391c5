"""Intervals: means, whiskers and single values."""

from __future__ import annotations

import math

import pytest
from tests.unit.report.charts.drawings import marks, texts, tip

from greffe.report.charts import (
    IntervalRow,
    interval_chart,
)

HEAD = {"ident": "c", "title": "T", "description": "D", "x_label": "X"}
NBSP = "\N{NO-BREAK SPACE}"


ROWS = [
    IntervalRow("pretrained", 0.81, 0.79, 0.83, [0.80, 0.82], "pretrained"),
    IntervalRow("majority", 0.5, 0.5, 0.5, [], "majority"),
]


def test_means_intervals_and_seeds_are_there() -> None:
    found = marks(interval_chart(ROWS, **HEAD))
    means = [each.attrib for each in found if "data-mean" in each.attrib]
    assert [(m["data-mean"], m["data-low"], m["data-high"]) for m in means] == [
        ("0.81", "0.79", "0.83"),
        ("0.5", "0.5", "0.5"),
    ]
    seeds = [each.attrib["data-value"] for each in found if "data-value" in each.attrib]
    assert seeds == ["0.8", "0.82"]
    assert "pretrained\n81.0% (79.0% to 83.0%)" in [tip(m) for m in found]


def test_differences_have_signs_points_and_a_zero_line() -> None:
    rows = [IntervalRow("a − b", 0.062, 0.041, 0.083, [0.05, 0.07], "pretrained")]
    drawn = interval_chart(rows, zero_line=True, **HEAD)
    assert 'class="zero"' in drawn
    assert f"+6.2{NBSP}points" in texts(drawn)
    assert "0" in texts(drawn)
    assert 'class="zero"' not in interval_chart(ROWS, **HEAD)


def test_a_negative_difference_has_a_real_minus() -> None:
    rows = [IntervalRow("a", -0.5, -0.6, -0.4, [], "x")]
    assert "\N{MINUS SIGN}0.500" in texts(
        interval_chart(rows, percent=False, zero_line=True, **HEAD)
    )


def test_long_names_are_cut_to_fit_and_whole_in_the_tip() -> None:
    name = "a very long name of an arm that somebody wrote without thinking of charts"
    drawn = interval_chart([IntervalRow(name, 0.5, 0.4, 0.6, [], "x")], **HEAD)
    assert name not in texts(drawn)
    assert any(each.endswith("…") and name.startswith(each[:-1]) for each in texts(drawn))
    assert tip(marks(drawn)[0]).startswith(name)


@pytest.mark.parametrize("rows", [[], [IntervalRow("a", math.nan, 0.0, 1.0, [], "x")]])
def test_no_intervals_are_said(rows: list[IntervalRow]) -> None:
    assert "No data." in interval_chart(rows, **HEAD)
