"""Line charts: well-formed, complete, honest about their axes, whole with odd input."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report.charts.drawings import SVG, marks, texts

from greffe.report.charts import ChartTexts, Point, Series, line_chart

FRENCH = ChartTexts(language="fr", interval="{low} à {high}")


def chart(series: list[Series], **changes: object) -> str:
    options: dict[str, object] = {
        "ident": "epochs",
        "title": "Accuracy",
        "description": "By epoch.",
        "x_label": "Epoch",
        "y_label": "Right",
    }
    return line_chart(series, **(options | changes))  # type: ignore[arg-type]


PAIR = [
    Series("pretrained", [Point(1, 0.7, 0.68, 0.72), Point(2, 0.8, 0.79, 0.81)], "pretrained"),
    Series("scratch", [Point(1, 0.61), Point(2, 0.66)], "scratch"),
]


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_every_value_is_there_in_both_layouts(layout: str) -> None:
    found = [
        (each.attrib["data-series"], each.attrib["data-x"], each.attrib["data-y"])
        for each in marks(chart(PAIR), layout)
    ]
    assert found == [
        ("pretrained", "1", "0.7"),
        ("pretrained", "2", "0.8"),
        ("scratch", "1", "0.61"),
        ("scratch", "2", "0.66"),
    ]


def test_titles_say_values_in_the_readers_language() -> None:
    title = marks(chart(PAIR, catalog=FRENCH))[0].find(f"{SVG}title")
    assert title is not None
    assert title.text == "pretrained\nEpoch: 1\n70,0\u00a0% (68,0\u00a0% à 72,0\u00a0%)"


def test_ids_are_unique_and_refer_to_something() -> None:
    root = ElementTree.fromstring(chart(PAIR))
    idents = [each.attrib["id"] for each in root.iter() if "id" in each.attrib]
    assert len(idents) == len(set(idents))
    for svg in root.iter(f"{SVG}svg"):
        assert svg.attrib["role"] == "img"
        assert {svg.attrib["aria-labelledby"], svg.attrib["aria-describedby"]} <= set(idents)


def test_names_and_labels_are_escaped() -> None:
    drawn = chart([Series('<b>&"\x00', [Point(0, 0.5)], "x")], title="a < b", y_label="<i>")
    assert "<b>" not in drawn and "<i>" not in drawn
    assert marks(drawn)[0].attrib["data-series"] == '<b>&"\N{REPLACEMENT CHARACTER}'


def test_an_axis_that_does_not_begin_at_zero_says_so() -> None:
    assert "Right (axis from 60%)" in texts(chart(PAIR))
    from_zero = [Series("a", [Point(0, 0.0), Point(1, 0.9)], "x")]
    assert "Right" in texts(chart(from_zero))


def test_shares_stay_between_none_and_all() -> None:
    drawn = texts(chart([Series("a", [Point(0, 1.0)], "x")]))
    assert "100%" in drawn
    assert not any(each.startswith(("101", "102", "105")) for each in drawn)


def test_ticks_stand_at_the_measured_label_counts() -> None:
    counts = [50, 100, 200, 400, 1600]
    drawn = chart([Series("a", [Point(n, 0.5) for n in counts], "x")], x_log=True)
    assert {"50", "100", "200", "400", "1,600"} <= set(texts(drawn))


def test_whole_numbers_have_whole_ticks() -> None:
    drawn = chart([Series("a", [Point(n, n / 20) for n in range(1, 11)], "x")])
    assert not any("." in each for each in texts(drawn) if "%" not in each)


def test_reference_lines_are_drawn_and_named_with_their_value() -> None:
    drawn = chart(PAIR, reference_lines=[("majority", 0.5)])
    assert "majority 50.0%" in texts(drawn)
    assert drawn.count('class="reference"') >= 2


def test_series_of_one_kind_do_not_look_the_same() -> None:
    twins = [Series(name, [Point(0, 0.5), Point(1, 0.6)], "pretrained") for name in "ab"]
    classes = {
        each.attrib["class"] for each in _groups(chart(twins)) if each.find(_PATH) is not None
    }
    assert len(classes) == 2


def test_a_long_line_keeps_its_extremes_and_stays_small() -> None:
    points = [Point(step, 3 + math.sin(step)) for step in range(20_000)]
    points[7_777] = Point(7_777, 9.5)
    points[9_999] = Point(9_999, 0.25)
    drawn = chart([Series("loss", points, "train")], y_percent=False)
    kept = {float(each.attrib["data-y"]) for each in marks(drawn)}
    assert {9.5, 0.25} <= kept
    assert len(drawn) < 150_000


def test_names_at_line_ends_do_not_meet() -> None:
    many = [Series(f"arm {n}", [Point(0, 0.5), Point(1, 0.6 + n / 1e4)], f"k{n}") for n in range(6)]
    svg = next(ElementTree.fromstring(chart(many)).iter(f"{SVG}svg"))
    heights = sorted(
        float(each.attrib["y"]) for each in svg.iter(f"{SVG}text") if each.get("class") == "name"
    )
    assert len(heights) == 6
    assert min(b - a for a, b in pairwise(heights)) >= 13


@pytest.mark.parametrize(
    "series",
    [
        [],
        [Series("a", [], "x")],
        [Series("a", [Point(0, math.nan), Point(1, math.inf)], "x")],
    ],
)
def test_nothing_to_draw_is_said(series: list[Series]) -> None:
    assert chart(series) == '<p class="no-data" id="epochs">No data.</p>'


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
    drawn = chart([Series("a", points, "x")], x_log=x_log)
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
    drawn = chart([Series("a", [Point(x, y) for x, y in values], "x")], y_percent=False)
    svg = next(ElementTree.fromstring(drawn).iter(f"{SVG}svg"))
    height = float(svg.attrib["height"])
    for circle in svg.iter(f"{SVG}circle"):
        assert 0 <= float(circle.attrib["cx"]) <= 720
        assert 0 <= float(circle.attrib["cy"]) <= height


_PATH = f"{SVG}path"


def _groups(drawn: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(drawn).iter(f"{SVG}g"))
