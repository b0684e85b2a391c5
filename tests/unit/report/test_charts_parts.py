"""What charts are made of: numbers, scales, styles, text; and what stands around them."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from greffe.report.charts import chart_block, distinct_kinds, marked_text
from greffe.report.charts.scales import Scale, Ticks, apart, even_ticks, share_ticks, spread
from greffe.report.charts.styles import ARM_SLOTS, SLOTS, SPARE, styles_of
from greffe.report.charts.svg import fitted, text_width
from greffe.study.document import Marked

finite = st.floats(-1e9, 1e9, allow_subnormal=False)


# --- scales -------------------------------------------------------------------------------------


@given(finite, finite, st.integers(2, 10))
def test_ticks_enclose_what_is_shown(a: float, b: float, most: int) -> None:
    low, high = sorted((a, b))
    assume(high - low > 1e-6)
    ticks = even_ticks(low, high, most)
    room = 1e-8 * ticks.step + 1e-9 * max(abs(low), abs(high))
    assert ticks.values[0] <= low + room and high - room <= ticks.values[-1]
    assert 2 <= len(ticks.values) <= most + 2


@given(st.lists(st.floats(0, 1), min_size=1))
def test_ticks_of_shares_are_shares(values: list[float]) -> None:
    ticks = share_ticks(values, 6).values
    assert 0 <= ticks[0] <= min(values) and max(values) <= ticks[-1] + 1e-9 <= 1 + 1e-8
    assert ticks[-1] - ticks[0] >= 0.05


@pytest.mark.parametrize(("step", "decimals"), [(5, 0), (0.5, 1), (0.25, 2), (2.5, 1), (0.01, 2)])
def test_decimals_tell_ticks_apart(step: float, decimals: int) -> None:
    assert Ticks((0.0, step), step).decimals() == decimals
    assert Ticks((0.0, step / 100), step / 100).decimals(100) == decimals


def test_an_interval_beyond_all_is_not_cut() -> None:
    ticks = share_ticks([-0.01, 0.98, 1.03], 6).values
    assert ticks[0] <= -0.01 and ticks[-1] >= 1.03


def test_logarithmic_scale() -> None:
    scale = Scale(10, 1000, 0, 100, is_log=True)
    assert [scale(10), scale(100), scale(1000)] == pytest.approx([0, 50, 100])


def test_one_value_stands_in_the_middle() -> None:
    assert Scale(3, 3, 0, 100)(3) == 50


def test_the_last_label_always_stays() -> None:
    assert apart([1, 2, 3, 4], [0, 10, 20, 30], 15) == [2, 4]


@given(st.lists(st.floats(0, 200), min_size=1, max_size=8))
def test_spread_places_keep_their_order_and_distance(places: list[float]) -> None:
    moved = spread(places, 16, 0, 200)
    order = sorted(range(len(places)), key=lambda index: places[index])
    gaps = [moved[b] - moved[a] for a, b in pairwise(order)]
    assert all(gap >= 16 - 1e-9 for gap in gaps)
    assert min(moved) >= -1e-9 and max(moved) <= 200 + 1e-9


# --- styles and text ----------------------------------------------------------------------------


def test_an_arm_keeps_its_style_whatever_stands_beside_it() -> None:
    kinds = distinct_kinds(["pretrained", "scratch", "pretrained", "tfidf", "pretrained"])
    assert kinds == ["pretrained", "scratch", "pretrained-2", "tfidf", "pretrained-3"]
    together = dict(zip(kinds, styles_of(kinds), strict=True))
    for kind, style in together.items():
        assert styles_of([kind]) == [style]
    assert len(set(together.values())) == len(kinds)


def test_every_kind_of_arm_has_a_style_of_its_own() -> None:
    assert len(set(ARM_SLOTS.values())) == len(ARM_SLOTS) and len(SPARE) >= 2


def test_a_run_keeps_its_style_whichever_others_are_drawn() -> None:
    assert styles_of(["run-0", "run-1", "run-2"])[1:] == styles_of(["run-1", "run-2"])


@given(st.lists(st.sampled_from(["pretrained", "scratch", "frozen", "train", "valid", "x"])))
def test_no_two_series_look_the_same_while_styles_last(kinds: list[str]) -> None:
    styles = styles_of(kinds)
    assert len(set(styles)) == min(len(kinds), SLOTS) or len(kinds) > SLOTS


def test_markers_differ_by_more_than_colour() -> None:
    drawn = {style.marker(0, 0) for style in styles_of([f"k{n}" for n in range(SLOTS)])}
    assert len(drawn) == SLOTS


@given(st.text(max_size=60), st.floats(20, 200))
def test_fitted_text_fits(content: str, width: float) -> None:
    shown = fitted(content, width)
    assert text_width(shown) <= max(width, text_width("…"))
    assert shown == content or shown.endswith("…")


# --- around a chart -----------------------------------------------------------------------------


def test_a_block_has_caption_buttons_and_table() -> None:
    block = chart_block(
        "<svg/>", "<table><tr><td>1</td></tr></table>", "arms", title="A & B", caption="<why>"
    )
    root = ElementTree.fromstring(block)
    assert root.tag == "figure" and root.attrib["id"] == "arms-figure"
    assert [b.attrib["data-format"] for b in root.iter("button")] == ["svg", "png", "csv"]
    assert all("hidden" in b.attrib and b.attrib["aria-label"] for b in root.iter("button"))
    assert "".join(next(root.iter("figcaption")).itertext()) == "A & B <why>"
    assert root.find("details//table") is not None


def test_a_block_without_drawing_or_table_offers_neither() -> None:
    root = ElementTree.fromstring(chart_block("<p>No data.</p>", "", "arms", title="A"))
    assert not list(root.iter("button")) and not list(root.iter("details"))


# --- marked words -------------------------------------------------------------------------------


def test_marked_words_keep_the_text_and_differ_by_class() -> None:
    pieces = [("Un ", 0.0), (" film", 0.3), (" <b>&", -1.0), (" \n", 0.9), ("رائع 😀", 1.0)]
    html = marked_text([Marked(text=text, weight=weight) for text, weight in pieces])
    root = ElementTree.fromstring(html)
    assert "".join(root.itertext()) == "".join(text for text, _ in pieces)
    found = [(each.text, each.attrib["class"]) for each in root.iter("mark")]
    assert found == [
        ("film", "for level-2"),
        ("<b>&", "against level-4"),
        ("رائع 😀", "for level-4"),
    ]
    assert [each.attrib["title"] for each in root.iter("mark")] == ["+0.30", "−1.00", "+1.00"]


def test_no_words_give_an_element_that_is_closed() -> None:
    assert marked_text([]) == '<span class="marked" dir="auto"></span>'
