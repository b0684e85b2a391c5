from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.isotonic import isotonic_regression

from greffe.evaluation.label_curves import equivalent_labels, extrapolate, rising

LABELS = (50, 100, 200, 400, 800)


def law(labels: float) -> float:
    return 0.1 + 1.2 * labels**-0.5


def fraction_correct(accuracy: float, texts: int = 2000, seeds: int = 1) -> np.ndarray:
    """The first texts right, the others wrong, for every seed."""
    row = np.arange(texts) < round(accuracy * texts)
    return np.tile(row, (seeds, 1))


def answers(
    draw: np.random.Generator, seeds: int, texts: int, errors: list[float]
) -> list[np.ndarray]:
    """A table for each error rate: difficulty of texts shared, seeds of 2 points' spread."""
    difficulty = draw.normal(size=texts)
    tables = []
    for error in errors:
        of_seeds = np.clip(error + draw.normal(0, 0.02, (seeds, 1)), 0.001, 0.999)
        score = math.sqrt(0.6) * difficulty + math.sqrt(0.4) * draw.normal(size=(seeds, texts))
        tables.append(score > stats.norm.ppf(of_seeds))
    return tables


# --- equivalent labels --------------------------------------------------------------------------


def test_halfway_on_a_logarithmic_scale() -> None:
    curve = {100: fraction_correct(0.6), 400: fraction_correct(0.8)}
    found = equivalent_labels(fraction_correct(0.7), curve)
    assert found.value == pytest.approx(200)
    assert found.low is not None and found.high is not None
    assert found.low < 200 < found.high
    assert not found.is_floor


def test_out_of_reach_is_none() -> None:
    curve = {100: fraction_correct(0.6), 400: fraction_correct(0.65)}
    found = equivalent_labels(fraction_correct(0.9), curve)
    assert found.value is found.low is found.high is None


def test_nearly_out_of_reach_has_an_open_end() -> None:
    curve = {100: fraction_correct(0.6, 500), 400: fraction_correct(0.8, 500)}
    found = equivalent_labels(fraction_correct(0.798, 500)[:, ::-1], curve)
    assert found.value is not None and found.value < 400
    assert found.low is not None and found.low < found.value
    assert found.high is None


def test_better_with_its_fewest_labels() -> None:
    curve = {100: fraction_correct(0.6), 400: fraction_correct(0.8)}
    found = equivalent_labels(fraction_correct(0.5), curve)
    assert (found.value, found.is_floor) == (100, True)
    assert not equivalent_labels(fraction_correct(0.6), curve).is_floor


def test_an_arm_is_its_own_equal() -> None:
    tables = answers(np.random.default_rng(0), 8, 1000, [law(labels) for labels in LABELS])
    curve = dict(zip(LABELS, tables, strict=True))
    for labels, table in curve.items():
        found = equivalent_labels(table, curve)
        assert found.value == labels
        assert found.low is not None and found.low <= labels


def test_same_draws_for_both_arms() -> None:
    # Each draw compares the arm with itself: no chance is left where the curve is steep.
    accuracies = {10: 0.3, 100: 0.6, 1000: 0.9}
    curve = {labels: fraction_correct(accuracy, 500, 4) for labels, accuracy in accuracies.items()}
    found = equivalent_labels(curve[100], curve)
    assert found.value == found.low == found.high == 100


def test_few_labels_come_first_whatever_the_order_given() -> None:
    curve = {400: fraction_correct(0.8), 100: fraction_correct(0.6)}
    assert equivalent_labels(fraction_correct(0.7), curve).value == pytest.approx(200)


def test_one_row_stands_beside_many() -> None:
    draw = np.random.default_rng(0)
    tables = answers(draw, 4, 300, [law(labels) for labels in LABELS])
    curve = dict(zip(LABELS, tables, strict=True))
    once = fraction_correct(0.8, 300)
    assert equivalent_labels(once, curve) == equivalent_labels(once.repeat(4, 0), curve)


def test_the_seed_decides_the_draws() -> None:
    tables = answers(np.random.default_rng(0), 4, 300, [law(labels) for labels in LABELS])
    curve = dict(zip(LABELS, tables, strict=True))
    one, other = extrapolate(curve, 200), extrapolate(curve, 200, seed=1)
    assert one is not None and other is not None
    assert one == extrapolate(curve, 200)
    assert one.gain == other.gain
    assert one.high != other.high


def test_rising_is_isotonic_regression() -> None:
    curves = np.random.default_rng(0).random((50, 6))
    expected = np.stack([isotonic_regression(curve) for curve in curves])
    assert rising(curves) == pytest.approx(expected)


# --- more labels --------------------------------------------------------------------------------


def test_a_power_law_is_recovered() -> None:
    curve = {labels: fraction_correct(1 - law(labels), 10_000) for labels in LABELS}
    found = extrapolate(curve, 200)
    assert found is not None
    targets = law(800) - law(1000)
    assert found.gain == pytest.approx(targets, rel=0.05)
    assert found.low <= targets <= found.high


def test_a_law_without_a_limit_is_recovered() -> None:
    curve = {labels: fraction_correct(1 - 1.5 * labels**-0.4, 10_000) for labels in LABELS}
    found = extrapolate(curve, 800)
    assert found is not None
    assert found.gain == pytest.approx(1.5 * (800**-0.4 - 1600**-0.4), rel=0.05)


def test_an_error_that_falls_too_fast_gets_the_fastest_law_without_a_limit() -> None:
    errors = np.array([0.8, 0.2, 0.05])
    curve = {
        count: fraction_correct(1 - error) for count, error in zip(LABELS, errors, strict=False)
    }
    shape = np.array([4.0, 2.0, 1.0])  # 1 / labels, relative to the last
    slope = errors @ shape / (shape @ shape)
    found = extrapolate(curve, 200)
    assert found is not None
    assert found.gain == pytest.approx(slope * (1 - 200 / 400))


def test_a_curve_that_is_flat_or_falls_promises_nothing() -> None:
    for accuracies in ([0.7, 0.7, 0.7], [0.8, 0.7, 0.6], [1, 1, 1]):
        curve = {
            count: fraction_correct(accuracy)
            for count, accuracy in zip(LABELS, accuracies, strict=False)
        }
        found = extrapolate(curve, 200)
        assert found is not None
        assert found.gain == found.low == pytest.approx(0)


def test_two_points_are_no_curve() -> None:
    assert extrapolate({100: fraction_correct(0.6), 200: fraction_correct(0.7)}, 200) is None


# --- coverage -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "texts"), [(3, 200), (5, 1000), (8, 400)])
def test_intervals_cover(seeds: int, texts: int) -> None:
    draw = np.random.default_rng(seeds)
    equivalent, gain, repetitions = 0, 0, 200
    for _ in range(repetitions):
        tables = answers(draw, seeds, texts, [law(labels) for labels in (*LABELS, 300)])
        curve = dict(zip(LABELS, tables, strict=False))
        found = equivalent_labels(tables[-1], curve)
        if found.low is not None:
            equivalent += found.low <= 300 <= (math.inf if found.high is None else found.high)
        more = extrapolate(curve, 200)
        assert more is not None
        gain += more.low <= law(800) - law(1000) <= more.high
    # 95 % give or take three standard errors of 200 repetitions, and never always.
    assert 0.905 <= equivalent / repetitions <= 0.99
    assert 0.905 <= gain / repetitions <= 0.99
