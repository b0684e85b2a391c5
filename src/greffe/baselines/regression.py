"""Multinomial logistic regression with an L2 penalty. Knows rows and class numbers only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 1e-5
"""Of the mean loss's slope; ten times less changes the log loss by less than 0.0002."""
MOST_STEPS = 10_000


@dataclass(frozen=True)
class Solution:
    """Weights [columns, classes] and bias [classes]; scores are rows times weights plus bias."""

    weights: np.ndarray
    bias: np.ndarray


class Regression:
    """Logistic regression on the same rows for one C after another, each from the last one's end.

    A class that the rows lack is unlikely, not impossible.
    """

    def __init__(
        self,
        rows: Any,
        targets: np.ndarray,
        classes: int,
        *,
        weights: np.ndarray | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        from sklearn.linear_model import LogisticRegression

        self.rows = rows
        self.targets = targets
        self.classes = classes
        self.weights = weights  # [N]: how much a row's loss counts; none: all the same
        self.seen = np.unique(targets)
        self._model = LogisticRegression(tol=tolerance, max_iter=MOST_STEPS, warm_start=True)

    def solve(self, c: float) -> Solution:
        """The optimum for this C, the inverse strength of the penalty."""
        weights = np.zeros((self.rows.shape[1], self.classes))
        bias = np.zeros(self.classes)
        if len(self.seen) > 1:
            self._model.set_params(C=c).fit(self.rows, self.targets, self.weights)
            found, shift = self._model.coef_, self._model.intercept_
            if len(self.seen) == 2:  # one column that tells two classes apart
                found, shift = np.vstack((-found, found)) / 2, np.append(-shift, shift) / 2
            weights[:, self.seen] = found.T
            bias[self.seen] = shift
        unseen = np.setdiff1d(np.arange(self.classes), self.seen)
        bias[unseen] = bias[self.seen].min() - np.log(1 + len(self.targets))
        return Solution(weights, bias)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities [N, classes], float64."""
    from scipy import special

    probabilities: np.ndarray = special.softmax(np.asarray(scores, dtype=np.float64), axis=1)
    return probabilities
