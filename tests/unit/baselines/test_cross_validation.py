"""Cross-validation: stratified folds that do not leak, and the best setting on them."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.baselines.cross_validation import (
    DEFAULT_PENALTY,
    PENALTIES,
    Choice,
    assign_folds,
    choose,
)
from greffe.baselines.logistic_regression import Regression
from greffe.seeding import rng


def test_classes_are_spread_evenly() -> None:
    targets = np.array([0] * 50 + [1] * 25 + [2] * 10)
    folds = assign_folds([f"text {number}" for number in range(85)], targets, seed=4)
    for label, count in ((0, 10), (1, 5), (2, 2)):
        assert np.bincount(folds[targets == label]).tolist() == [count] * 5


def test_equal_texts_are_in_one_fold() -> None:
    texts = [f"text {number % 20}" for number in range(60)]
    folds = assign_folds(texts, np.arange(60) % 2, seed=0)
    assert len(set(zip(texts, folds.tolist(), strict=True))) == 20


def test_folds_follow_from_the_seed() -> None:
    texts, targets = [str(number) for number in range(40)], np.arange(40) % 2
    first = assign_folds(texts, targets, seed=0)
    assert (first == assign_folds(texts, targets, seed=0)).all()
    assert (first != assign_folds(texts, targets, seed=1)).any()


def test_a_rare_class_is_in_every_training_part() -> None:
    targets = np.array([0] * 20 + [1] * 3 + [2])
    folds = assign_folds([str(number) for number in range(24)], targets, seed=0)
    assert folds[-1] == -1
    assert len(set(folds[20:23])) == 3
    for part in range(5):
        assert set(targets[folds != part]) == {0, 1, 2}


def noise_and_signal(count: int) -> tuple[np.ndarray, np.ndarray]:
    draw = rng(0, "signal")
    targets = draw.integers(2, size=count)
    rows = draw.normal(size=(count, 20))
    rows[:, 0] += 1.5 * targets
    return rows / np.sqrt(20), targets


def test_the_choice_has_the_least_log_loss_of_all() -> None:
    rows, targets = noise_and_signal(120)
    folds = assign_folds([str(number) for number in range(120)], targets, seed=0)
    found = choose(lambda _: rows, (1.0,), targets, 2, folds)
    losses = {}
    for c in PENALTIES:
        probabilities = np.zeros((120, 2))
        for part in range(5):
            solution = Regression(2).fit(rows[folds != part], targets[folds != part], c)
            probabilities[folds == part] = solution.probabilities(rows[folds == part])
        losses[c] = -np.log(probabilities[np.arange(120), targets]).mean()
    assert found.c == min(losses, key=lambda c: losses[c])
    assert PENALTIES[0] < found.c < PENALTIES[-1]
    assert found.log_loss == pytest.approx(losses[found.c], abs=1e-3)


def test_held_out_texts_are_not_fitted() -> None:
    """Random labels: a leak would make the accuracy better than chance."""
    draw = rng(1, "no rule")
    targets = draw.integers(2, size=200)
    rows = draw.normal(size=(200, 400)) / 20
    folds = assign_folds([str(number) for number in range(200)], targets, seed=0)
    found = choose(lambda _: rows, (1.0,), targets, 2, folds)
    assert found.accuracy is not None and found.log_loss is not None
    assert 0.35 < found.accuracy < 0.65
    assert found.log_loss > 0.68 and found.c == PENALTIES[0]


def test_too_few_texts_give_the_default() -> None:
    targets = np.array([0, 1])
    folds = assign_folds(["a", "b"], targets, seed=0)
    found = choose(lambda _: np.eye(2), (0.1, 0.4), targets, 2, folds)
    assert found == Choice(DEFAULT_PENALTY, 1.0)


def test_a_training_part_may_lack_a_class() -> None:
    """Equal texts with different labels can put all texts of a class in one fold."""
    texts = ["x", "x", "y", "y", "z", "w"]
    targets = np.array([0, 1, 0, 1, 0, 0])
    folds = assign_folds(texts, targets, seed=0)
    found = choose(lambda _: np.eye(6), (1.0,), targets, 2, folds)
    assert found.log_loss is not None and np.isfinite(found.log_loss)


def test_the_base_weight_with_the_lowest_log_loss_is_chosen() -> None:
    rows, targets = noise_and_signal(120)
    folds = assign_folds([str(number) for number in range(120)], targets, seed=0)
    signal = np.zeros(20)
    signal[0] = 1.0

    def rows_with(weight: float) -> np.ndarray:
        return np.asarray(rows * (signal + (1 - signal) * weight))

    assert choose(rows_with, (5.0, 0.01, 1.0), targets, 2, folds).base_weight == 0.01


def test_texts_without_a_fold_are_in_every_training_part() -> None:
    """As auxiliary texts are: they count by their weights and are never scored."""
    rows, targets = noise_and_signal(120)
    folds = assign_folds([str(number) for number in range(120)], targets, seed=0)
    folds[60:] = -1
    wrong = np.append(targets[:60], 1 - targets[60:])
    ignored, counted = (
        choose(
            lambda _: rows,
            (1.0,),
            wrong,
            2,
            folds,
            sample_weight=np.append(np.ones(60), np.full(60, weight)),
        )
        for weight in (1e-6, 3.0)
    )
    assert ignored.accuracy is not None and counted.accuracy is not None
    assert ignored.accuracy > 0.6 > counted.accuracy
