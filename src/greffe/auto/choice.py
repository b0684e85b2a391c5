"""Choose among models by their out-of-fold predictions, and say what to expect of the choice.

Knows tables of predictions, not where they come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from greffe.baselines.ensembling import ensemble_probabilities
from greffe.evaluation.intervals import Estimate, crossed_estimate
from greffe.seeding import rng

MOST_MEMBERS = 3
"""Models of an ensemble: each makes every prediction slower."""
DRAWS = 1000
ONE_SIDED = 1.645
"""Standard errors of a one-sided 95% bound."""


@dataclass(frozen=True)
class OutOfFold:
    """A model's probabilities [repeats, texts, classes] for texts that it was not trained on.

    NaN where a text was not predicted.
    """

    probabilities: np.ndarray

    @property
    def is_known(self) -> np.ndarray:
        """Which texts were predicted, [repeats, texts]."""
        known: np.ndarray = np.isfinite(self.probabilities).all(axis=2)
        return known


@dataclass(frozen=True)
class Choice:
    """The chosen models, and the accuracy to expect of an ensemble that is chosen in this way."""

    members: tuple[str, ...]
    expected: Estimate


def accuracy_by_text(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the fraction of repeats in which each text is classified correctly; NaN: in none."""
    known = np.isfinite(probabilities).all(axis=2)
    correct = np.where(known, np.nan_to_num(probabilities, nan=-1.0).argmax(axis=2) == targets, 0)
    counts = known.sum(axis=0)
    means: np.ndarray = np.where(counts > 0, correct.sum(axis=0) / np.maximum(counts, 1), np.nan)
    return means


def accuracy_of(by_text: np.ndarray) -> Estimate:
    """Return the mean over texts with its interval for new texts."""
    return crossed_estimate(by_text[np.isfinite(by_text)][None, :], bounds=(0, 1))


def gain_of(first: np.ndarray, second: np.ndarray) -> Estimate:
    """Return first minus second over the texts that both classified."""
    difference = first - second
    return crossed_estimate(difference[np.isfinite(difference)][None, :])


def join(models: Sequence[OutOfFold]) -> np.ndarray:
    """Return the ensemble's probabilities [repeats, texts, classes]; NaN where a model has none."""
    if len(models) == 1:
        return models[0].probabilities
    known = np.logical_and.reduce([model.is_known for model in models])
    joined = np.full(models[0].probabilities.shape, np.nan)
    joined[known] = ensemble_probabilities([model.probabilities[known] for model in models])
    return joined


def cannot_win(challenger: OutOfFold, best: OutOfFold, targets: np.ndarray) -> bool:
    """Whether a model makes the best one worse, alone and beside it, beyond doubt.

    Judged by one-sided 95% bounds over the texts that both have classified.
    """
    of_best = np.where(challenger.is_known[:, :, None], best.probabilities, np.nan)
    return all(
        _upper_bound(accuracy_by_text(with_it, targets), accuracy_by_text(of_best, targets)) < 0
        for with_it in (challenger.probabilities, join([challenger, best]))
    )


def _upper_bound(first: np.ndarray, second: np.ndarray) -> float:
    difference = (first - second)[np.isfinite(first - second)]
    if len(difference) < 2:
        return np.inf
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return float(difference.mean() + ONE_SIDED * error)


def choose_members(models: Mapping[str, OutOfFold], targets: np.ndarray, seed: int) -> Choice:
    """Return the ensemble of one to three models with the highest accuracy on held-out texts.

    Equal accuracies are decided by the log loss, then by the number of models. All are compared on
    the texts that every model has classified. The best of several looks better than it is: the
    expected accuracy is that of choices made on bootstrap samples of the texts, each tested on the
    texts that its sample leaves out (bootstrap bias-corrected cross-validation).
    """
    shared = np.logical_and.reduce([model.is_known for model in models.values()])
    limited = {
        name: OutOfFold(np.where(shared[:, :, None], model.probabilities, np.nan))
        for name, model in models.items()
    }
    sets = [
        members
        for size in range(1, min(MOST_MEMBERS, len(models)) + 1)
        for members in combinations(limited, size)
    ]
    joined = [join([limited[name] for name in members]) for members in sets]
    correct = np.array([accuracy_by_text(each, targets) for each in joined])
    losses = [_log_loss(each, targets) for each in joined]
    is_tested = np.isfinite(correct[0])
    correct = correct[:, is_tested]
    best = min(range(len(sets)), key=lambda i: (-correct[i].mean().round(6), losses[i]))
    return Choice(sets[best], _corrected(correct, best, seed))


def _log_loss(probabilities: np.ndarray, targets: np.ndarray) -> float:
    known = np.isfinite(probabilities).all(axis=2)
    rows = probabilities[known]
    of_target = rows[np.arange(len(rows)), np.broadcast_to(targets, known.shape)[known]]
    return float(-np.log(np.maximum(of_target, 1e-12)).mean())


def _corrected(correct: np.ndarray, best: int, seed: int) -> Estimate:
    """Return the accuracy of the best of these rows [sets, texts], without its optimism."""
    plain = accuracy_of(correct[best])
    texts = correct.shape[1]
    if len(correct) == 1 or texts < 2:
        return plain
    drawn = rng(seed, "choice").multinomial(texts, np.full(texts, 1 / texts), size=DRAWS)
    winners = (correct @ drawn.T).argmax(axis=0)
    left_out = drawn == 0
    sizes = left_out.sum(axis=1)
    scores = (correct[winners] * left_out).sum(axis=1) / np.maximum(sizes, 1)
    mean = min(plain.mean, float(scores[sizes > 0].mean()))
    # The interval keeps its width, which is that of the texts; its bounds stay fractions.
    shift = plain.mean - mean
    low, high = max(0.0, plain.low - shift), min(1.0, plain.high - shift)
    return plain.model_copy(update={"mean": mean, "low": low, "high": high, "values": [mean]})
