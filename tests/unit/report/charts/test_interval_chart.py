"""Intervals: means, whiskers and single values."""

from __future__ import annotations

from tests.unit.report.charts.drawings import HEADING, marks, texts, tip

from greffe.evaluation.intervals import Estimate
from greffe.report.charts.interval_chart import IntervalRow, interval_chart

NBSP = "\N{NO-BREAK SPACE}"


def row(
    name: str, mean: float, low: float, high: float, values: list[float], kind: str
) -> IntervalRow:
    return IntervalRow(
        name, Estimate(mean=mean, deviation=None, low=low, high=high, values=values), kind
    )


ROWS = [
    row("pretrained", 0.81, 0.79, 0.83, [0.80, 0.82], "pretrained"),
    row("majority", 0.5, 0.5, 0.5, [], "majority"),
]


def test_means_intervals_and_seeds_are_there() -> None:
    found = marks(interval_chart(ROWS, HEADING))
    means = [each.attrib for each in found if "data-mean" in each.attrib]
    assert [(m["data-mean"], m["data-low"], m["data-high"]) for m in means] == [
        ("0.81", "0.79", "0.83"),
        ("0.5", "0.5", "0.5"),
    ]
    seeds = [each.attrib["data-value"] for each in found if "data-value" in each.attrib]
    assert seeds == ["0.8", "0.82"]
    assert "pretrained\n81.0% (79.0% to 83.0%)" in [tip(m) for m in found]


def test_differences_have_signs_points_and_a_zero_line() -> None:
    rows = [row("a − b", 0.062, 0.041, 0.083, [0.05, 0.07], "pretrained")]
    drawn = interval_chart(rows, HEADING, zero_line=True)
    assert 'class="zero"' in drawn
    assert f"+6.2{NBSP}points" in texts(drawn)
    assert "0" in texts(drawn)
    assert 'class="zero"' not in interval_chart(ROWS, HEADING)


def test_negative_numbers_have_a_real_minus() -> None:
    rows = [row("a", -0.5, -0.6, -0.4, [], "x")]
    assert "\N{MINUS SIGN}0.500" in texts(interval_chart(rows, HEADING, percent=False))
    assert f"\N{MINUS SIGN}50.0{NBSP}points" in texts(interval_chart(rows, HEADING, zero_line=True))


def test_long_names_are_cut_to_fit_and_complete_in_the_tooltip() -> None:
    name = "a very long name of an arm that somebody wrote without thinking of charts"
    drawn = interval_chart([row(name, 0.5, 0.4, 0.6, [], "x")], HEADING)
    assert name not in texts(drawn)
    assert any(each.endswith("…") and name.startswith(each[:-1]) for each in texts(drawn))
    assert tip(marks(drawn)[0]).startswith(name)


def test_without_rows_the_chart_says_so() -> None:
    assert "No data." in interval_chart([], HEADING)
