from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from greffe.evaluation.intervals import crossed_estimate
from greffe.evaluation.paired import (
    McNemar,
    compare_correct,
    holm,
    mcnemar,
    sign_flip_p,
    smallest_detectable,
    smallest_sign_flip_p,
)


def two_arms(
    draw: np.random.Generator, seeds: int, texts: int, targets: float, own: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Right answers of two arms on texts of shared difficulty, seeds of 1.5 points' spread.

    `own` is by how much each arm likes other texts than its rival does.
    """
    ease = 0.3 + 0.5 * draw.random(texts)
    taste = own * draw.choice([-1.0, 1.0], texts)
    first = ease + targets / 2 + taste + draw.normal(0, 0.015, (seeds, 1))
    second = ease - targets / 2 - taste + draw.normal(0, 0.015, (seeds, 1))
    return draw.random((seeds, texts)) < first, draw.random((seeds, texts)) < second


def is_significant(first: np.ndarray, second: np.ndarray) -> bool:
    result = compare_correct(first, second)
    return result.p < 0.05 and not result.difference.low <= 0 <= result.difference.high


# --- McNemar ------------------------------------------------------------------------------------


def test_mcnemar_of_five_against_fifteen() -> None:
    first = np.array([True] * 5 + [False] * 15 + [True] * 30 + [False] * 10)
    second = np.array([False] * 5 + [True] * 15 + [True] * 30 + [False] * 10)
    # Two tails of 20 fair coins with at most 5 heads: 2 (1+20+190+1140+4845+15504) / 2^20.
    p = 2 * 21700 / 2**20
    found = mcnemar(first, second)
    assert (found.only_first, found.only_second, found.p) == (5, 15, pytest.approx(p))
    assert mcnemar(second, first).only_first == 15
    assert p == pytest.approx(stats.binomtest(5, 20).pvalue)


def test_mcnemar_without_a_differing_text() -> None:
    right = np.array([1, 0, 1])
    assert mcnemar(right, right) == McNemar(only_first=0, only_second=0, p=1)


# --- sign flips ---------------------------------------------------------------------------------


def test_three_seeds_by_hand() -> None:
    # Sums of ±1 ±2 ±3: 6 twice in eight; 1 + 2 - 3 = 0 is reached by all.
    assert sign_flip_p([1, 2, 3]) == 2 / 8
    assert sign_flip_p([1, 2, -3]) == 1
    # 1 - 2 + 4 = 3: |sum| of 7, 5, 3 reach it, 1 does not.
    assert sign_flip_p([1, -2, 4]) == 6 / 8


def test_eight_seeds_by_hand() -> None:
    assert sign_flip_p([0.01] * 8) == 2 / 256
    # One of eight against: as far as any single flip, 8 a side, and none at all.
    assert sign_flip_p([0.01] * 7 + [-0.01]) == (2 + 16) / 256


def test_equal_sums_count_whatever_their_rounding() -> None:
    figures = [0.1, 0.2, 0.3, -0.3, 0.7, 0.1]
    exact = [1, 2, 3, -3, 7, 1]
    assert sign_flip_p(figures) == sign_flip_p(exact)
    # Accuracies are multiples of 1 / texts: many sign patterns have equal sums.
    draw = np.random.default_rng(0)
    for counts in draw.integers(-20, 21, (40, 7)):
        assert sign_flip_p(counts / 400) == sign_flip_p(counts)


def test_all_patterns_are_tried() -> None:
    figures = np.random.default_rng(3).normal(0.3, 1, 7)
    sums = [abs(np.dot(signs, figures)) for signs in itertools.product([-1, 1], repeat=7)]
    expected = np.mean([value >= abs(figures.sum()) - 1e-12 for value in sums])
    assert sign_flip_p(figures) == expected


def test_no_difference_at_all() -> None:
    assert sign_flip_p([0.0] * 5) == 1
    assert sign_flip_p([0.0]) == sign_flip_p([0.3]) == 1


def test_many_seeds_are_drawn_and_never_certain() -> None:
    figures = np.random.default_rng(0).normal(0.4, 1, 30)
    assert sign_flip_p(figures) == sign_flip_p(figures)
    assert sign_flip_p(figures) == pytest.approx(stats.ttest_1samp(figures, 0).pvalue, abs=0.01)
    assert sign_flip_p(np.ones(60)) == 1 / 65537


def test_smallest_p() -> None:
    assert [smallest_sign_flip_p(seeds) for seeds in (1, 2, 5, 8)] == [1, 1 / 2, 1 / 16, 1 / 128]


def test_p_is_uniform_when_nothing_differs() -> None:
    draw = np.random.default_rng(0)
    for seeds in (3, 8):
        ps = np.array([sign_flip_p(draw.normal(0, 1, seeds)) for _ in range(1000)])
        for reachable in (
            np.array([1, 2, 6, 12, 32, 64]) * 2 / 256 if seeds == 8 else (1 / 4, 1 / 2)
        ):
            error = 3 * np.sqrt(reachable * (1 - reachable) / len(ps))
            assert abs((ps <= reachable + 1e-12).mean() - reachable) < error


def test_mcnemar_is_rarely_small_when_nothing_differs() -> None:
    draw = np.random.default_rng(0)
    pairs = draw.random((1000, 2, 80)) < 0.7
    ps = np.array([mcnemar(first, second).p for first, second in pairs])
    for level in (0.01, 0.05, 0.1):
        assert (ps <= level).mean() < level + 3 * np.sqrt(level / len(ps))


# --- Holm ---------------------------------------------------------------------------------------


def test_holm_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04; never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_is_capped_and_leaves_one_alone() -> None:
    assert holm([0.6, 0.5]) == [1, 1]
    assert holm([0.04]) == [0.04]
    assert holm([]) == []


# --- the whole comparison -----------------------------------------------------------------------


def test_difference_is_first_minus_second_seed_by_seed() -> None:
    first = np.array([[1, 1, 1, 0], [1, 1, 0, 0]])
    second = np.array([[1, 0, 0, 0], [0, 1, 0, 0]])
    result = compare_correct(first, second)
    assert result.difference == crossed_estimate(first - second)
    assert result.difference.values == [0.5, 0.25]
    assert result.p == result.smallest_p == 0.5


def test_one_row_stands_against_every_seed() -> None:
    draw = np.random.default_rng(0)
    first, second = two_arms(draw, 4, 50, 0.2)
    assert compare_correct(first, second[:1]) == compare_correct(first, second[:1].repeat(4, 0))
    turned = compare_correct(second[:1], first)
    assert turned.difference.mean == -compare_correct(first, second[:1]).difference.mean


def test_two_arms_without_chance_are_compared_text_by_text() -> None:
    first = np.array([[True] * 15 + [False] * 5 + [True] * 30])
    second = np.array([[False] * 15 + [True] * 5 + [True] * 30])
    result = compare_correct(first, second)
    assert result.p == mcnemar(first[0], second[0]).p
    assert result.smallest_p == 2 / 2**20
    same = compare_correct(first, first)
    assert (same.p, same.smallest_p) == (1, 1)


def test_smallest_detectable_by_hand() -> None:
    # One seed, 100 texts, 10 for and 10 against: variance 20/99; t(99) 1.9842 and 0.8453.
    table = np.array([[1.0] * 10 + [-1.0] * 10 + [0.0] * 80])
    expected = (1.9842 + 0.8453) * np.sqrt(20 / 99 / 100)
    assert smallest_detectable(table) == pytest.approx(expected, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("own", [0.0, 0.15])
def test_equal_arms_are_rarely_told_apart(own: float) -> None:
    draw = np.random.default_rng(0)
    shown = [is_significant(*two_arms(draw, 8, 200, 0, own)) for _ in range(1000)]
    assert np.mean(shown) <= 0.05


@pytest.mark.slow
def test_three_equal_comparisons_together_are_rarely_told_apart() -> None:
    draw = np.random.default_rng(0)
    shown = 0
    for _ in range(500):
        results = [compare_correct(*two_arms(draw, 8, 200, 0)) for _ in range(3)]
        adjusted = holm([result.p for result in results])
        shown += any(
            p < 0.05 and not result.difference.low <= 0 <= result.difference.high
            for p, result in zip(adjusted, results, strict=True)
        )
    assert shown / 500 <= 0.05


@pytest.mark.slow
def test_five_points_are_usually_shown() -> None:
    draw = np.random.default_rng(0)
    shown = [is_significant(*two_arms(draw, 8, 400, 0.05)) for _ in range(300)]
    assert np.mean(shown) > 0.8
    # A difference of the wrong sign is no proof of anything.
    assert compare_correct(*two_arms(draw, 8, 400, -0.05)).difference.mean < 0


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "texts"), [(5, 150), (8, 150), (8, 400)])
def test_smallest_detectable_is_shown_four_times_in_five(seeds: int, texts: int) -> None:
    draw = np.random.default_rng(seeds)

    def table(targets: float) -> np.ndarray:
        first, second = two_arms(draw, seeds, texts, targets, own=0.05)
        return first.astype(float) - second

    targets = float(np.mean([smallest_detectable(table(0.05)) for _ in range(200)]))
    power = np.mean([crossed_estimate(table(targets)).low > 0 for _ in range(600)])
    assert 0.7 <= power <= 0.9
