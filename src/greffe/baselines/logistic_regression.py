"""Multinomial logistic regression with an L2 penalty, on scikit-learn, for rows and class numbers.

`FeatureRows` holds the features of texts. `Compact` is the shortcut for few texts with many
columns: it was measured in docs/experiments/gram-matrix.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 1e-5
"""Of the mean loss's gradient; a tenth of it changes the log loss by less than 0.0002."""
MAX_ITERATIONS = 10_000
DENSE_FRACTION = 0.05
"""Columns that occur in more of the texts than this are multiplied as dense ones."""
RIDGE = 1e-6
"""Added to the Gram matrix, relative to its mean diagonal, to keep it positive definite."""


@dataclass(frozen=True)
class Solution:
    """Weights [columns, classes] and bias [classes]."""

    weights: np.ndarray
    bias: np.ndarray

    def probabilities(self, rows: Any) -> np.ndarray:
        """Return class probabilities [N, classes]."""
        return softmax(rows @ self.weights + self.bias)


class Regression:
    """Logistic regression for one C after another, each started from the last solution."""

    def __init__(self, classes: int, tolerance: float = TOLERANCE) -> None:
        from sklearn.linear_model import LogisticRegression

        self.classes = classes
        self._model = LogisticRegression(tol=tolerance, max_iter=MAX_ITERATIONS, warm_start=True)

    def fit(
        self, rows: Any, targets: np.ndarray, c: float, sample_weight: np.ndarray | None = None
    ) -> Solution:
        """Return the optimum for C, the inverse strength of the penalty.

        A class without rows becomes unlikely, not impossible.
        """
        weights, bias = np.zeros((rows.shape[1], self.classes)), np.zeros(self.classes)
        seen = np.unique(targets)
        if len(seen) > 1:
            self._model.set_params(C=c).fit(rows, targets, sample_weight)
            coef, intercept = self._model.coef_, self._model.intercept_
            if len(seen) == 2:  # scikit-learn has one score for two classes
                coef, intercept = np.vstack((-coef, coef)) / 2, np.append(-intercept, intercept) / 2
            weights[:, seen], bias[seen] = coef.T, intercept
        unseen = np.setdiff1d(np.arange(self.classes), seen)
        bias[unseen] = bias[seen].min() - np.log(1 + len(targets))
        return Solution(weights, bias)


@dataclass(frozen=True)
class FeatureRows:
    """Rows of the same texts: sparse TF-IDF [N, terms], a base's vectors [N, F], run scores [N, S].

    A block that is missing is None. TF-IDF rows and scores have a fixed length; the base's vectors
    have a mean length of one times a weight that is chosen by cross-validation.
    """

    terms: Any
    base: np.ndarray | None = None
    scores: np.ndarray | None = None

    def take(self, indices: np.ndarray) -> FeatureRows:
        """Return the rows of some texts."""
        blocks = (self.terms, self.base, self.scores)
        return FeatureRows(*(None if block is None else block[indices] for block in blocks))

    def stacked(self, base_weight: float) -> Any:
        """Return all blocks side by side, the base's vectors multiplied by their weight."""
        from scipy import sparse

        dense = [] if self.base is None else [self.base * np.float32(base_weight)]
        dense += [] if self.scores is None else [self.scores]
        if self.terms is None:
            return np.hstack(dense)
        return sparse.hstack((self.terms, *map(sparse.csr_array, dense)), format="csr")


class Compact:
    """The same texts with the same inner products, in at most N columns.

    With an L2 penalty the optimal weights are a linear combination of the rows, so only inner
    products matter: a Cholesky factor of the Gram matrix has the same optimum as all columns.
    """

    def __init__(self, features: FeatureRows) -> None:
        self.features = features
        if features.terms is not None:
            self._fixed = gram(features.terms) + _products(features.scores)
            self._base = _products(features.base)

    def rows(self, base_weight: float) -> np.ndarray:
        """Return compact rows [N, at most N] of `FeatureRows.stacked(base_weight)`."""
        from scipy import linalg

        if self.features.terms is None:
            dense: np.ndarray = self.features.stacked(base_weight).astype(np.float64)
            return dense
        products = self._fixed + base_weight**2 * self._base
        ridge = RIDGE * (np.trace(products) / len(products) + 1)
        products[np.diag_indices_from(products)] += ridge  # equal or empty texts are singular
        root: np.ndarray = linalg.cholesky(products, lower=True, overwrite_a=True)
        return root

    def expand(self, rows: np.ndarray, weights: np.ndarray, base_weight: float) -> np.ndarray:
        """Turn weights of the compact rows into weights of the columns that they stand for."""
        from scipy import linalg

        if self.features.terms is None:
            return weights
        combination = linalg.solve_triangular(rows, weights, trans=1, lower=True)  # [N, classes]
        expanded: np.ndarray = self.features.stacked(base_weight).T @ combination
        return expanded


def gram(rows: Any) -> np.ndarray:
    """Return the inner products [N, N] of sparse rows with each other."""
    found_in = np.bincount(rows.indices, minlength=rows.shape[1])
    is_common = found_in > DENSE_FRACTION * rows.shape[0]
    common = rows[:, is_common].toarray().astype(np.float64)
    rare = rows[:, ~is_common].astype(np.float64)
    result: np.ndarray = common @ common.T + (rare @ rare.T).toarray()
    return result


def _products(rows: np.ndarray | None) -> Any:
    """Return the inner products [N, N] of dense rows; 0 without rows."""
    if rows is None:
        return 0.0
    exact = rows.astype(np.float64)
    return exact @ exact.T


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities [N, classes], float64."""
    from scipy import special

    probabilities: np.ndarray = special.softmax(np.asarray(scores, dtype=np.float64), axis=1)
    return probabilities
