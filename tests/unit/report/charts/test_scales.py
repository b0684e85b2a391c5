"""Scales and ticks."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from greffe.report.charts.scales import Scale, Ticks, apart, even_ticks, fraction_ticks

finite = st.floats(-1e9, 1e9, allow_subnormal=False)


@given(finite, finite, st.integers(2, 10))
def test_ticks_enclose_what_is_shown(a: float, b: float, most: int) -> None:
    low, high = sorted((a, b))
    assume(high - low > 1e-6)
    ticks = even_ticks(low, high, most)
    margin = 1e-8 * ticks.step + 1e-9 * max(abs(low), abs(high))
    assert ticks.values[0] <= low + margin and high - margin <= ticks.values[-1]
    assert 2 <= len(ticks.values) <= most + 2


@given(st.lists(st.floats(0, 1), min_size=1))
def test_ticks_of_fractions_are_fractions(values: list[float]) -> None:
    ticks = fraction_ticks(values, 6).values
    assert 0 <= ticks[0] <= min(values) and max(values) <= ticks[-1] + 1e-9 <= 1 + 1e-8
    assert ticks[-1] - ticks[0] >= 0.05


@pytest.mark.parametrize(("step", "decimals"), [(5, 0), (0.5, 1), (0.25, 2), (2.5, 1), (0.01, 2)])
def test_decimals_tell_ticks_apart(step: float, decimals: int) -> None:
    assert Ticks((0.0, step), step).decimals() == decimals
    assert Ticks((0.0, step / 100), step / 100).decimals(100) == decimals


def test_an_interval_beyond_all_is_not_cut() -> None:
    ticks = fraction_ticks([-0.01, 0.98, 1.03], 6).values
    assert ticks[0] <= -0.01 and ticks[-1] >= 1.03


def test_logarithmic_scale() -> None:
    scale = Scale(10, 1000, 0, 100, is_log=True)
    assert [scale(10), scale(100), scale(1000)] == pytest.approx([0, 50, 100])


def test_a_single_value_is_in_the_middle() -> None:
    assert Scale(3, 3, 0, 100)(3) == 50


def test_the_last_label_always_stays() -> None:
    assert apart([1, 2, 3, 4], [0, 10, 20, 30], 15) == [2, 4]
