"""Cross-validation inside the training texts: choose the penalty and the base's weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from greffe.baselines.logistic_regression import TOLERANCE, Regression
from greffe.progress import Progress
from greffe.seeding import rng

FOLDS = 5
PENALTIES = (0.1, 0.5, 2.0, 8.0, 30.0, 120.0, 500.0)
"""Values of C, tried in order until the log loss rises."""
BASE_WEIGHTS = (0.1, 0.4, 1.6)
"""Lengths of the base's vectors relative to the other features."""
DEFAULT_PENALTY = 8.0
NEVER = -1
"""The fold of a text that is never held out, as in scikit-learn's `PredefinedSplit`."""


@dataclass(frozen=True)
class Choice:
    """One setting and its scores on held-out texts; without scores if there were too few texts."""

    c: float
    base_weight: float
    log_loss: float | None = None
    accuracy: float | None = None


def assign_folds(
    texts: Sequence[str], targets: np.ndarray, seed: int, folds: int = FOLDS
) -> np.ndarray:
    """Return a fold for each text [N]: stratified by class, equal texts in the same fold.

    A class with fewer different texts than folds is missing from some folds; the only text of a
    class is never held out.
    """
    first = {text: index for index, text in reversed(list(enumerate(texts)))}
    distinct = np.array(sorted(first.values()))
    drawn = distinct[rng(seed, "folds").permutation(len(distinct))]
    drawn = drawn[np.argsort(targets[drawn], kind="stable")]
    sizes = np.bincount(targets[drawn])
    fold_of = {
        texts[index]: number % folds if sizes[targets[index]] > 1 else NEVER
        for number, index in enumerate(drawn)
    }
    return np.array([fold_of[text] for text in texts])


def choose(
    rows_with: Callable[[float], Any],
    base_weights: Sequence[float],
    targets: np.ndarray,
    classes: int,
    folds: np.ndarray,
    *,
    penalties: Sequence[float] = PENALTIES,
    sample_weight: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
) -> Choice:
    """Return the setting with the lowest log loss on held-out folds.

    `rows_with` returns the rows [N, columns] for a weight of the base's features.
    """
    from sklearn.metrics import accuracy_score, log_loss
    from sklearn.model_selection import PredefinedSplit

    splits = list(PredefinedSplit(folds).split())
    if not splits:
        return Choice(DEFAULT_PENALTY, base_weights[0] if len(base_weights) == 1 else 1.0)
    held_out = folds != NEVER
    tried: list[tuple[float, Choice]] = []
    with Progress("cross-validate", len(base_weights) * len(penalties) * len(splits)) as progress:
        for number, base_weight in enumerate(base_weights, 1):
            rows = rows_with(base_weight)
            models = [Regression(classes, tolerance) for _ in splits]
            lowest = np.inf
            for c in penalties:
                guess = np.empty((len(targets), classes))
                for model, (train, test) in zip(models, splits, strict=True):
                    counted = None if sample_weight is None else sample_weight[train]
                    solution = model.fit(rows[train], targets[train], c, counted)
                    guess[test] = solution.probabilities(rows[test])
                    progress.advance(1)
                loss = float(log_loss(targets[held_out], guess[held_out], labels=range(classes)))
                found = guess[held_out].argmax(axis=1)
                accuracy = float(accuracy_score(targets[held_out], found))
                tried.append((loss, Choice(c, base_weight, loss, accuracy)))
                if loss > lowest:  # it only rises from here
                    break
                lowest = loss
            progress.set(number * len(penalties) * len(splits))
    return min(tried, key=lambda pair: pair[0])[1]
