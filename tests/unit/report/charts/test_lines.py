"""Line charts: well-formed, complete, clear about their axes, robust to extreme input."""

from __future__ import annotations

import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report.charts.drawings import HEADING, SVG, marks, texts, tip

from greffe.report.catalog import load_catalog
from greffe.report.charts.lines import Point, Series, line_chart

PAIR = [
    Series("pretrained", [Point(1, 0.7, 0.68, 0.72), Point(2, 0.8, 0.79, 0.81)], "pretrained"),
    Series("scratch", [Point(1, 0.61), Point(2, 0.66)], "scratch"),
]


def test_every_value_is_there() -> None:
    found = [
        (each.attrib["data-series"], each.attrib["data-x"], each.attrib["data-y"])
        for each in marks(line_chart(PAIR, HEADING))
    ]
    assert found == [
        ("pretrained", "1", "0.7"),
        ("pretrained", "2", "0.8"),
        ("scratch", "1", "0.61"),
        ("scratch", "2", "0.66"),
    ]


def test_titles_say_values_in_the_readers_language() -> None:
    french = replace(HEADING, catalog=load_catalog("fr"))
    first = marks(line_chart(PAIR, french))[0]
    assert tip(first) == "pretrained\nX: 1\n70,0\u00a0% (de 68,0\u00a0% à 72,0\u00a0%)"


def test_ids_are_unique_and_refer_to_something() -> None:
    root = ElementTree.fromstring(line_chart(PAIR, HEADING))
    idents = [each.attrib["id"] for each in root.iter() if "id" in each.attrib]
    assert len(idents) == len(set(idents))
    for svg in root.iter(f"{SVG}svg"):
        assert svg.attrib["role"] == "img"
        assert {svg.attrib["aria-labelledby"], svg.attrib["aria-describedby"]} <= set(idents)


def test_names_and_labels_are_escaped() -> None:
    heading = replace(HEADING, title="a < b", y_label="<i>")
    drawn = line_chart([Series('<b>&"\x00', [Point(0, 0.5)], "x")], heading)
    assert "<b>" not in drawn and "<i>" not in drawn
    assert marks(drawn)[0].attrib["data-series"] == '<b>&"\N{REPLACEMENT CHARACTER}'


def test_an_axis_that_does_not_begin_at_zero_says_so() -> None:
    assert "Y (axis from 60%)" in texts(line_chart(PAIR, HEADING))
    from_zero = [Series("a", [Point(0, 0.0), Point(1, 0.9)], "x")]
    assert "Y" in texts(line_chart(from_zero, HEADING))


def test_fractions_stay_between_0_and_1() -> None:
    drawn = texts(line_chart([Series("a", [Point(0, 1.0)], "x")], HEADING))
    assert "100%" in drawn
    assert not any(each.startswith(("101", "102", "105")) for each in drawn)


def test_ticks_are_at_the_measured_label_counts() -> None:
    counts = [50, 100, 200, 400, 1600]
    drawn = line_chart([Series("a", [Point(n, 0.5) for n in counts], "x")], HEADING, x_log=True)
    assert {"50", "100", "200", "400", "1,600"} <= set(texts(drawn))


def test_whole_numbers_have_whole_ticks() -> None:
    drawn = line_chart([Series("a", [Point(n, n / 20) for n in range(1, 11)], "x")], HEADING)
    assert not any("." in each for each in texts(drawn) if "%" not in each)


def test_reference_lines_are_drawn_and_named_with_their_value() -> None:
    drawn = line_chart(PAIR, HEADING, reference_lines=[("majority", 0.5)])
    assert "majority 50.0%" in texts(drawn)
    assert drawn.count('class="reference"') >= 2


def test_series_of_one_kind_do_not_look_the_same() -> None:
    twins = [Series(name, [Point(0, 0.5), Point(1, 0.6)], "pretrained") for name in "ab"]
    classes = {
        each.attrib["class"]
        for each in _groups(line_chart(twins, HEADING))
        if each.find(_PATH) is not None
    }
    assert len(classes) == 2


def test_a_long_line_keeps_its_extremes_and_stays_small() -> None:
    points = [Point(step, 3 + math.sin(step)) for step in range(20_000)]
    points[7_777] = Point(7_777, 9.5)
    points[9_999] = Point(9_999, 0.25)
    drawn = line_chart([Series("loss", points, "train")], HEADING, y_percent=False)
    kept = {float(each.attrib["data-y"]) for each in marks(drawn)}
    assert {9.5, 0.25} <= kept
    assert len(drawn) < 150_000


@pytest.mark.parametrize(
    "series",
    [
        [],
        [Series("a", [], "x")],
        [Series("a", [Point(0, math.nan), Point(1, math.inf)], "x")],
    ],
)
def test_without_points_the_chart_says_so(series: list[Series]) -> None:
    assert line_chart(series, HEADING) == '<p class="no-data" id="c">No data.</p>'


@pytest.mark.parametrize(
    "points",
    [
        [Point(3, 0.5)],
        [Point(3, 0.5, 0.4, 0.6)],
        [Point(0, 0.0), Point(0, 0.0)],
        [Point(1, 1.0), Point(2, 1.0)],
    ],
)
@pytest.mark.parametrize("x_log", [False, True])
def test_degenerate_lines_are_drawn(points: list[Point], x_log: bool) -> None:
    drawn = line_chart([Series("a", points, "x")], HEADING, x_log=x_log)
    assert len(marks(drawn)) == len(points)
    assert "nan" not in drawn and "inf" not in drawn


@given(
    st.lists(
        st.tuples(
            st.floats(-1e6, 1e6, allow_subnormal=False), st.floats(-1e6, 1e6, allow_subnormal=False)
        ),
        min_size=1,
        max_size=8,
    )
)
def test_all_finite_values_can_be_drawn_inside(values: list[tuple[float, float]]) -> None:
    drawn = line_chart(
        [Series("a", [Point(x, y) for x, y in values], "x")], HEADING, y_percent=False
    )
    svg = next(ElementTree.fromstring(drawn).iter(f"{SVG}svg"))
    height = float(svg.attrib["height"])
    for circle in svg.iter(f"{SVG}circle"):
        assert 0 <= float(circle.attrib["cx"]) <= 720
        assert 0 <= float(circle.attrib["cy"]) <= height


_PATH = f"{SVG}path"


def _groups(drawn: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(drawn).iter(f"{SVG}g"))
