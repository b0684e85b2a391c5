"""Styles of series: unique while they last, the same in all charts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greffe.report.charts.styles import ARM_SLOTS, SLOTS, SPARE, distinct_kinds, styles_of


def test_an_arm_keeps_its_style_whichever_others_are_drawn() -> None:
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


def test_markers_differ() -> None:
    drawn = {style.corners for style in styles_of([f"k{n}" for n in range(SLOTS)])}
    assert len(drawn) == SLOTS
