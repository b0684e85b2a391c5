from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from greffe.evaluation.intervals import (
    Estimate,
    bootstrap_interval,
    crossed_error,
    crossed_estimate,
    seeds_estimate,
    with_bootstrap,
)

FRACTIONS = (0.0, 1.0)
REPETITIONS = 2000
"""Coverage is then known to a third of a point; 98 % must not look like 98.5 by chance."""


def right_answers(
    draw: np.random.Generator, seeds: int, texts: int, spread: float, mean: float
) -> np.ndarray:
    """Right answers [seeds, texts]: texts of beta difficulty, normal effects of seeds.

    An effect weighs by p(1 - p), so that no probability leaves [0, 1] and the mean stays.
    """
    ease = draw.beta(4 * mean, 4 * (1 - mean), texts)
    room = ease * (1 - ease) / (0.8 * mean * (1 - mean))
    chance = ease + draw.normal(0, spread, (seeds, 1)) * room
    return (draw.random((seeds, texts)) < chance).astype(np.float64)


def differences(
    draw: np.random.Generator, seeds: int, texts: int, spread: float, targets: float
) -> np.ndarray:
    """First minus second arm on the same texts; three answers in ten share their chance."""
    ease = draw.beta(3.2, 0.8, texts)
    room = ease * (1 - ease) / 0.128
    first = ease + (draw.normal(0, spread, (seeds, 1)) + targets / 2) * room
    second = ease + (draw.normal(0, spread, (seeds, 1)) - targets / 2) * room
    one, other = draw.random((2, seeds, texts))
    shared = draw.random((seeds, texts)) < 0.3
    return (one < first).astype(float) - (np.where(shared, one, other) < second)


def coverage(tables: list[np.ndarray], bounds: tuple[float, float], targets: float) -> float:
    found = [crossed_estimate(table, bounds) for table in tables]
    return float(np.mean([estimate.low <= targets <= estimate.high for estimate in found]))


def test_worked_example() -> None:
    # By seed 3/4, 2/4, 1/4; by text 1, 2/3, 1/3, 0.
    table = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]], dtype=float)
    error = crossed_error(table, FRACTIONS)
    seed_square = 4 * (0.25**2 + 0 + 0.25**2) / 2
    text_square = 3 * (0.5**2 + (1 / 6) ** 2 + (1 / 6) ** 2 + 0.5**2) / 3
    total = 12 * 0.5 * 0.5
    rest_square = (total - 2 * seed_square - 3 * text_square) / 6
    assert error.of_seeds == pytest.approx(math.sqrt(seed_square / 12))
    assert error.of_texts == pytest.approx(math.sqrt((text_square - rest_square) / 12))
    assert (error.seed_degrees, error.text_degrees) == (2, 3)
    # Student's t for 2 and 3 degrees, as printed in tables.
    assert error.margin(0.975) == pytest.approx(
        math.hypot(4.3027 * error.of_seeds, 3.1824 * error.of_texts), rel=1e-4
    )
    estimate = crossed_estimate(table, FRACTIONS)
    assert estimate.mean == 0.5
    assert estimate.values == [0.75, 0.5, 0.25]
    assert estimate.deviation == pytest.approx(0.25)


@pytest.mark.parametrize("right", [0, 1, 30, 180, 199, 200])
def test_one_seed_is_wilsons_interval(right: int) -> None:
    table = np.zeros((1, 200))
    table[:, :right] = 1
    estimate = crossed_estimate(table, FRACTIONS)
    wilson = stats.binomtest(right, 200).proportion_ci(method="wilson")
    assert estimate.deviation is None
    # Student's t and the variance's own degrees make it about 1 % longer.
    assert estimate.low == pytest.approx(wilson.low, abs=0.002)
    assert estimate.high == pytest.approx(wilson.high, abs=0.002)


@pytest.mark.parametrize("seeds", [1, 8])
def test_all_right_is_not_proof_of_perfection(seeds: int) -> None:
    estimate = crossed_estimate(np.ones((seeds, 400)), FRACTIONS)
    assert estimate.mean == estimate.high == 1
    # Rule of three: 3 / 400; Clopper and Pearson: 3.7 / 400.
    assert 3 / 400 < 1 - estimate.low < 4 / 400


def test_arms_that_never_differ_keep_an_interval() -> None:
    estimate = crossed_estimate(np.zeros((8, 400)))
    assert estimate.mean == 0
    assert estimate.high == -estimate.low == pytest.approx(2.8 / 400, rel=0.02)


def test_repeating_a_seed_teaches_nothing_new() -> None:
    row = np.array([[1.0] * 70 + [0.0] * 30])
    one, eight = crossed_estimate(row, FRACTIONS), crossed_estimate(row.repeat(8, 0), FRACTIONS)
    assert (eight.low, eight.high) == pytest.approx((one.low, one.high))
    assert eight.deviation == 0


@pytest.mark.parametrize("bounds", [FRACTIONS, (-1.0, 1.0)])
@pytest.mark.parametrize("shape", [(1, 1), (8, 1), (2, 2)])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_tiny_tables_give_wide_intervals(
    shape: tuple[int, int], value: float, bounds: tuple[float, float]
) -> None:
    estimate = crossed_estimate(np.full(shape, value), bounds)
    assert bounds[0] <= estimate.low <= value <= estimate.high <= bounds[1]
    assert estimate.high - estimate.low > 0.4


def test_booleans_are_taken_as_they_are() -> None:
    table = np.array([[True, False, True], [True, True, False]])
    assert crossed_estimate(table, FRACTIONS) == crossed_estimate(table.astype(float), FRACTIONS)


def test_mirrored_tables_give_mirrored_intervals() -> None:
    table = differences(np.random.default_rng(0), 5, 60, 0.03, 0.2)
    one, other = crossed_estimate(table), crossed_estimate(-table)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_seeds_estimate_by_hand() -> None:
    # Mean 3, variance 2.5; t with 4 degrees is 2.7764.
    reach = 2.7764 * math.sqrt(2.5 / 5)
    estimate = seeds_estimate([1, 2, 3, 4, 5])
    assert estimate.mean == 3
    assert estimate.deviation == pytest.approx(math.sqrt(2.5))
    assert (estimate.low, estimate.high) == pytest.approx((3 - reach, 3 + reach), rel=1e-4)


def test_seeds_estimate_of_one_seed_and_of_bounded_figures() -> None:
    assert seeds_estimate([0.7]) == Estimate(
        mean=0.7, deviation=None, low=0.7, high=0.7, values=[0.7]
    )
    # Half the distance times t with one degree, 12.706, goes beyond one but not to zero.
    bounded = seeds_estimate([0.9, 1.0], FRACTIONS)
    assert (bounded.low, bounded.high) == pytest.approx((0.95 - 0.05 * 12.706, 1), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0, 0.01, 0.03])
@pytest.mark.parametrize("texts", [100, 400])
@pytest.mark.parametrize("seeds", [3, 5, 8])
def test_intervals_of_accuracy_cover(seeds: int, texts: int, spread: float) -> None:
    draw = np.random.default_rng([seeds, texts])
    for mean in (0.8, 0.95):
        # A seed effect of 3 points around 95 % would leave [0, 1].
        effect = min(spread, 0.2 * (1 - mean))
        tables = [right_answers(draw, seeds, texts, effect, mean) for _ in range(REPETITIONS)]
        assert 0.935 <= coverage(tables, FRACTIONS, mean) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0, 0.01, 0.03])
@pytest.mark.parametrize("texts", [100, 400])
@pytest.mark.parametrize("seeds", [3, 5, 8])
def test_intervals_of_differences_cover(seeds: int, texts: int, spread: float) -> None:
    draw = np.random.default_rng([seeds, texts])
    for targets in (0.0, 0.05):
        tables = [differences(draw, seeds, texts, spread, targets) for _ in range(REPETITIONS)]
        assert 0.935 <= coverage(tables, (-1, 1), targets) <= 0.985


@pytest.mark.parametrize("mean", [0.8, 0.95])
def test_intervals_of_one_seed_cover(mean: float) -> None:
    draw = np.random.default_rng(1)
    tables = [right_answers(draw, 1, 150, 0, mean) for _ in range(1500)]
    assert 0.935 <= coverage(tables, FRACTIONS, mean) <= 0.985


def test_the_bootstrap_is_percentiles_of_resampled_means() -> None:
    table = (np.arange(400) % 4 > 0).astype(float)[None]  # three in four right, one seed
    low, high = bootstrap_interval(table)
    spread = 1.96 * math.sqrt(0.75 * 0.25 / 400)
    assert low == pytest.approx(0.75 - spread, abs=0.006)
    assert high == pytest.approx(0.75 + spread, abs=0.006)
    estimate = crossed_estimate(table, (0, 1))
    assert estimate.bootstrap is None
    assert with_bootstrap(estimate, table) == estimate.model_copy(update={"bootstrap": (low, high)})


def test_the_bootstrap_allows_for_seeds_and_for_texts() -> None:
    same = np.tile((np.arange(100) % 2).astype(float), (8, 1))
    by_seed = np.repeat(np.array([0.0, 1.0] * 4)[:, None], 100, axis=1)
    widths = [np.diff(bootstrap_interval(table))[0] for table in (same, by_seed)]
    assert widths[0] == pytest.approx(2 * 1.96 * 0.05, abs=0.03)  # a hundred texts
    assert widths[1] == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 8), abs=0.15)  # eight seeds
