"""Intervals, bars and calibration: every figure is there, zero is where it must be."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from greffe.report.charts import (
    BarRow,
    CalibrationSeries,
    IntervalRow,
    bar_chart,
    calibration_chart,
    interval_chart,
)
from greffe.study.document import CalibrationBin

SVG = "{http://www.w3.org/2000/svg}"
HEAD = {"ident": "c", "title": "T", "description": "D", "x_label": "X"}
NBSP = "\N{NO-BREAK SPACE}"


def first(drawn: str) -> ElementTree.Element:
    return next(ElementTree.fromstring(drawn).iter(f"{SVG}svg"))


def marks(drawn: str) -> list[ElementTree.Element]:
    return [g for g in first(drawn).iter(f"{SVG}g") if "mark" in g.get("class", "").split()]


def texts(drawn: str) -> list[str]:
    return [each.text or "" for each in first(drawn).iter(f"{SVG}text")]


def tip(mark: ElementTree.Element) -> str:
    title = mark.find(f"{SVG}title")
    assert title is not None and title.text
    return title.text


# --- intervals ----------------------------------------------------------------------------------

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


# --- bars ---------------------------------------------------------------------------------------


def test_bars_begin_at_zero_and_grow_with_their_values() -> None:
    drawn = bar_chart([BarRow("a", 10.0), BarRow("b", 20.0), BarRow("c", 0.0)], **HEAD)
    bars = [each for each in first(drawn).iter(f"{SVG}rect") if each.get("class") == "bar"]
    widths = [float(bar.attrib["width"]) for bar in bars]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert widths[2] == 0
    assert len({bar.attrib["x"] for bar in bars}) == 1


def test_bars_of_one_name_stand_together_with_a_legend() -> None:
    rows = [
        BarRow("block 1", 0.03, "pretrained", "pretrained"),
        BarRow("block 2", 0.05, "pretrained", "pretrained"),
        BarRow("block 1", 0.07, "scratch", "from scratch"),
        BarRow("block 2", 0.09, "scratch", "from scratch"),
    ]
    drawn = bar_chart(rows, percent=True, **HEAD)
    order = [each.attrib["data-value"] for each in marks(drawn)]
    assert order == ["0.03", "0.07", "0.05", "0.09"]
    assert texts(drawn).count("block 1") == 1
    assert {"pretrained", "from scratch"} <= set(texts(drawn))
    assert len({each.attrib["class"] for each in marks(drawn)}) == 2


def test_a_bars_own_text_wins() -> None:
    drawn = bar_chart([BarRow("a", 212.0, text="3 min 32 s")], **HEAD)
    assert "3 min 32 s" in texts(drawn)


@pytest.mark.parametrize("values", [[0.0], [-1.0, 2.0], [1e-9], [3e9]])
def test_odd_bars_are_drawn_inside(values: list[float]) -> None:
    drawn = bar_chart([BarRow(f"r{v}", v) for v in values], **HEAD)
    for bar in first(drawn).iter(f"{SVG}rect"):
        assert float(bar.attrib["width"]) >= 0
        assert 0 <= float(bar.attrib["x"]) <= 720


def test_no_bars_are_said() -> None:
    assert "No data." in bar_chart([], **HEAD)


# --- calibration --------------------------------------------------------------------------------


def test_calibration_has_bins_counts_and_the_diagonal() -> None:
    bins = [
        CalibrationBin(confidence=0.9, accuracy=0.8, count=120),
        CalibrationBin(confidence=0.55, accuracy=0.5, count=7),
        CalibrationBin(confidence=0.7, accuracy=0.0, count=0),
    ]
    drawn = calibration_chart(
        [CalibrationSeries("pretrained", bins, "pretrained")], y_label="Y", **HEAD
    )
    found = [(m.attrib["data-x"], m.attrib["data-y"], m.attrib["data-count"]) for m in marks(drawn)]
    assert found == [("0.55", "0.5", "7"), ("0.9", "0.8", "120")]
    assert tip(marks(drawn)[1]).endswith("120 texts")
    diagonal = next(
        each
        for each in first(drawn).iter(f"{SVG}line")
        if each.get("class") == "reference" and each.attrib["y1"] != each.attrib["y2"]
    )
    across = float(diagonal.attrib["x2"]) - float(diagonal.attrib["x1"])
    assert across == float(diagonal.attrib["y1"]) - float(diagonal.attrib["y2"])


def test_no_calibration_is_said() -> None:
    empty = CalibrationSeries("a", [], "x")
    assert "No data." in calibration_chart([empty], y_label="Y", **HEAD)
