"""Cross-validation inside the training texts: the penalty and the weight of the base's features.

Knows compact rows and class numbers. Equal texts are always in the same fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from greffe.baselines.feature_blocks import Compact
from greffe.baselines.regression import Regression, softmax
from greffe.progress import Progress
from greffe.seeding import rng

FOLDS = 5
PENALTIES = (0.1, 0.5, 2.0, 8.0, 30.0, 120.0, 500.0)
"""Values of C that are tried, until the log loss rises."""
BASE_WEIGHTS = (0.1, 0.4, 1.6)
"""How long the base's vectors are beside those of TF-IDF."""
DEFAULT_PENALTY = 8.0
LEAST_SHARE = 1e-12


@dataclass(frozen=True)
class Choice:
    """One setting and what it is worth on texts that it was not fitted to."""

    c: float
    base_weight: float
    log_loss: float | None
    """None: there were too few texts to try anything."""
    accuracy: float | None


def fold_numbers(
    texts: Sequence[str], targets: np.ndarray, seed: int, folds: int = FOLDS
) -> np.ndarray:
    """A fold for each text [N]: classes evenly spread, equal texts together.

    A class with fewer different texts than folds is missing from some; a class with one alone is
    never held out (-1).
    """
    first = {text: place for place, text in reversed(list(enumerate(texts)))}
    places = np.array(sorted(first.values()))
    drawn = places[rng(seed, "folds").permutation(len(places))]
    drawn = drawn[np.argsort(targets[drawn], kind="stable")]
    sizes = np.bincount(targets[drawn])
    fold_of = {
        texts[place]: number % folds if sizes[targets[place]] > 1 else -1
        for number, place in enumerate(drawn)
    }
    return np.array([fold_of[text] for text in texts])


def choose(
    texts: Compact,
    base_weights: Sequence[float],
    targets: np.ndarray,
    classes: int,
    folds: np.ndarray,
) -> Choice:
    """The setting with the least log loss on the folds, each fitted to the others."""
    held_out = folds >= 0
    parts = np.unique(folds[held_out])
    if not len(parts):
        return Choice(DEFAULT_PENALTY, 1.0, None, None)
    found: list[tuple[float, Choice]] = []
    with Progress("cross-validate", len(base_weights) * len(PENALTIES)) as progress:
        for number, weight in enumerate(base_weights, 1):
            rows = texts.rows(weight)
            fits = [
                Regression(rows[folds != part], targets[folds != part], classes) for part in parts
            ]
            least = np.inf
            for c in PENALTIES:
                guess = np.empty((len(targets), classes))
                for part, regression in zip(parts, fits, strict=True):
                    solution = regression.solve(c)
                    scores = rows[folds == part] @ solution.weights + solution.bias
                    guess[folds == part] = softmax(scores)
                choice = judge(c, weight, guess[held_out], targets[held_out])
                found.append(choice)
                progress.advance(1)
                if choice[0] > least:  # it only rises from here
                    break
                least = choice[0]
            progress.set(number * len(PENALTIES))
    return min(found, key=lambda pair: pair[0])[1]


def judge(c: float, weight: float, guess: np.ndarray, targets: np.ndarray) -> tuple[float, Choice]:
    """The log loss of held-out probabilities [N, classes], and the setting that gave them."""
    of_truth = guess[np.arange(len(guess)), targets]
    loss = float(-np.log(np.maximum(of_truth, LEAST_SHARE)).mean())
    return loss, Choice(c, weight, loss, float((guess.argmax(axis=1) == targets).mean()))
