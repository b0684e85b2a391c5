"""Cross-validation: folds that are fair and do not leak, settings that do best on them."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.baselines.feature_blocks import Blocks, Compact
from greffe.baselines.regression import Regression, softmax
from greffe.baselines.selection import DEFAULT_PENALTY, PENALTIES, choose, fold_numbers
from greffe.seeding import rng


def test_classes_are_spread_evenly() -> None:
    targets = np.array([0] * 50 + [1] * 25 + [2] * 10)
    folds = fold_numbers([f"text {number}" for number in range(85)], targets, seed=4)
    for label, share in ((0, 10), (1, 5), (2, 2)):
        assert np.bincount(folds[targets == label]).tolist() == [share] * 5


def test_equal_texts_are_in_one_fold() -> None:
    texts = [f"text {number % 20}" for number in range(60)]
    folds = fold_numbers(texts, np.arange(60) % 2, seed=0)
    assert len(set(zip(texts, folds.tolist(), strict=True))) == 20


def test_folds_follow_from_the_seed() -> None:
    texts, targets = [str(number) for number in range(40)], np.arange(40) % 2
    first = fold_numbers(texts, targets, seed=0)
    assert (first == fold_numbers(texts, targets, seed=0)).all()
    assert (first != fold_numbers(texts, targets, seed=1)).any()


def test_a_rare_class_is_never_missing_from_what_is_fitted() -> None:
    targets = np.array([0] * 20 + [1] * 3 + [2])
    folds = fold_numbers([str(number) for number in range(24)], targets, seed=0)
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
    folds = fold_numbers([str(number) for number in range(120)], targets, seed=0)
    found = choose(Compact(Blocks(None, rows)), (1.0,), targets, 2, folds)
    losses = {}
    for c in PENALTIES:
        probabilities = np.zeros((120, 2))
        for part in range(5):
            solution = Regression(rows[folds != part], targets[folds != part], 2).solve(c)
            scores = rows[folds == part] @ solution.weights + solution.bias
            probabilities[folds == part] = softmax(scores)
        losses[c] = -np.log(probabilities[np.arange(120), targets]).mean()
    assert found.c == min(losses, key=lambda c: losses[c])
    assert PENALTIES[0] < found.c < PENALTIES[-1]
    assert found.log_loss == pytest.approx(losses[found.c], abs=1e-3)


def test_held_out_texts_are_not_fitted() -> None:
    """Labels without any rule: who peeks is right more often than by chance."""
    draw = rng(1, "no rule")
    targets = draw.integers(2, size=200)
    texts = Compact(Blocks(None, draw.normal(size=(200, 400)) / 20))
    folds = fold_numbers([str(number) for number in range(200)], targets, seed=0)
    found = choose(texts, (1.0,), targets, 2, folds)
    assert found.accuracy is not None and found.log_loss is not None
    assert 0.35 < found.accuracy < 0.65
    assert found.log_loss > 0.68 and found.c == PENALTIES[0]


def test_too_few_texts_to_try_anything() -> None:
    targets = np.array([0, 1])
    folds = fold_numbers(["a", "b"], targets, seed=0)
    found = choose(Compact(Blocks(None, np.eye(2))), (0.1, 1.0), targets, 2, folds)
    assert (found.c, found.accuracy, found.log_loss) == (DEFAULT_PENALTY, None, None)


def test_texts_that_carry_several_labels_can_empty_a_class() -> None:
    """All texts of a class in one fold: what is fitted lacks it, and nothing breaks."""
    texts = ["x", "x", "y", "y", "z", "w"]
    targets = np.array([0, 1, 0, 1, 0, 0])
    folds = fold_numbers(texts, targets, seed=0)
    found = choose(Compact(Blocks(None, np.eye(6))), (1.0,), targets, 2, folds)
    assert found.log_loss is not None and np.isfinite(found.log_loss)
