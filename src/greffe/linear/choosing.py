"""Cross-validation inside the training texts: the penalty and the weight of the base's features.

Knows inner products and class numbers. Equal texts are always in the same fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from greffe.linear.blocks import Products
from greffe.linear.solving import Regression, softmax, square_root
from greffe.progress import Progress
from greffe.seeding import rng

FOLDS = 5
PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Values of C that are tried."""
BASE_WEIGHTS = (0.5, 1.0, 2.0)
"""How long the base's vectors are beside those of TF-IDF."""
DEFAULT_PENALTY = 10.0
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
    texts: Sequence[str], truth: np.ndarray, seed: int, folds: int = FOLDS
) -> np.ndarray:
    """A fold for each text [N]: classes evenly spread, equal texts together.

    A class with fewer different texts than folds is missing from some; a class with one alone is
    never held out (-1).
    """
    first = {text: place for place, text in reversed(list(enumerate(texts)))}
    places = np.array(sorted(first.values()))
    drawn = places[rng(seed, "folds").permutation(len(places))]
    drawn = drawn[np.argsort(truth[drawn], kind="stable")]
    sizes = np.bincount(truth[drawn])
    fold_of = {
        texts[place]: number % folds if sizes[truth[place]] > 1 else -1
        for number, place in enumerate(drawn)
    }
    return np.array([fold_of[text] for text in texts])


def choose(
    products: Products,
    base_weights: Sequence[float],
    truth: np.ndarray,
    classes: int,
    folds: np.ndarray,
) -> Choice:
    """The setting with the least log loss on the folds, each fitted to the others."""
    held_out = folds >= 0
    parts = np.unique(folds[held_out])
    if not len(parts):
        return Choice(DEFAULT_PENALTY, 1.0, None, None)
    found: list[tuple[float, Choice]] = []
    with Progress("cross-validate", len(base_weights) * len(parts) * len(PENALTIES)) as progress:
        for weight in base_weights:
            # Single precision is enough to choose by, and twice as fast.
            root = square_root(products.weighed(weight)).astype(np.float32)
            guesses = np.zeros((len(PENALTIES), len(truth), classes))
            for number in parts:
                outside = folds == number
                regression = Regression(root[~outside], truth[~outside], classes)
                for place, c in enumerate(PENALTIES):
                    solution = regression.solve(c)
                    scores = root[outside] @ solution.weights + solution.bias
                    guesses[place, outside] = softmax(scores)
                    progress.advance(1)
            for c, guess in zip(PENALTIES, guesses[:, held_out], strict=True):
                of_truth = guess[np.arange(len(guess)), truth[held_out]]
                loss = float(-np.log(np.maximum(of_truth, LEAST_SHARE)).mean())
                accuracy = float((guess.argmax(axis=1) == truth[held_out]).mean())
                found.append((loss, Choice(c, weight, loss, accuracy)))
    return min(found, key=lambda pair: pair[0])[1]
