"""Features of texts in blocks: sparse TF-IDF, dense vectors of a base, scores of teachers.

Knows no texts and no labels. Sparse rows and scores have a fixed length, the dense ones a length of
one on average times a weight that is to be chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

DENSE_SHARE = 0.05
"""Columns that more of the texts have than this are multiplied as dense ones."""
LIFT = 1e-6
"""Keeps the square root of inner products real; a share of their mean diagonal."""
LEAST_SPREAD = 1e-8


@dataclass(frozen=True)
class Blocks:
    """Rows of the same texts: sparse [N, terms], dense [N, F], scores [N, S]; at least one."""

    sparse: Any
    dense: np.ndarray | None
    scores: np.ndarray | None = None

    def of(self, places: np.ndarray) -> Blocks:
        """The rows of some texts."""
        return Blocks(
            None if self.sparse is None else self.sparse[places],
            None if self.dense is None else self.dense[places],
            None if self.scores is None else self.scores[places],
        )

    def rows(self, weight: float) -> Any:
        """All blocks side by side as one matrix, the dense rows `weight` times as long."""
        from scipy import sparse

        parts = [] if self.dense is None else [self.dense * np.float32(weight)]
        parts += [] if self.scores is None else [self.scores]
        if self.sparse is None:
            return np.hstack(parts)
        return sparse.hstack((self.sparse, *map(sparse.csr_array, parts)), format="csr")


class Compact:
    """The same texts with the same inner products, in at most as many columns as there are texts.

    A model with an L2 penalty sees no difference: its weights are a sum of the texts' own rows, so
    only inner products matter, and any square root of them will do.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        if blocks.sparse is not None:
            self._unweighted = gram(blocks.sparse) + _products(blocks.scores)
            self._of_vectors = _products(blocks.dense)

    def rows(self, weight: float) -> np.ndarray:
        """Compact rows [N, at most N] of `Blocks.rows(weight)`."""
        from scipy import linalg

        if self.blocks.sparse is None:
            dense: np.ndarray = self.blocks.rows(weight).astype(np.float64)
            return dense
        products = self._unweighted + weight**2 * self._of_vectors
        # Equal texts, or empty ones, would leave nothing on the diagonal.
        products[np.diag_indices_from(products)] += LIFT * (np.trace(products) / len(products) + 1)
        root: np.ndarray = linalg.cholesky(products, lower=True, overwrite_a=True)
        return root

    def unfolded(self, rows: np.ndarray, weights: np.ndarray, weight: float) -> np.ndarray:
        """Weights for compact rows [·, K] → the same for the columns of `Blocks.rows`."""
        from scipy import linalg

        if self.blocks.sparse is None:
            return weights
        probabilities = linalg.solve_triangular(rows, weights, trans=1, lower=True)  # [N, K]
        unfolded: np.ndarray = self.blocks.rows(weight).T @ probabilities
        return unfolded


def _products(rows: np.ndarray | None) -> np.ndarray:
    """Inner products [N, N] of dense rows with each other; of none, a zero."""
    if rows is None:
        return np.zeros(())
    exact = rows.astype(np.float64)
    result: np.ndarray = exact @ exact.T
    return result


def gram(rows: Any) -> np.ndarray:
    """Inner products of sparse rows with each other; [N, N]."""
    found_in = np.bincount(rows.indices, minlength=rows.shape[1])
    is_common = found_in > DENSE_SHARE * rows.shape[0]
    common = rows[:, is_common].toarray().astype(np.float64)
    rare = rows[:, ~is_common].astype(np.float64)
    result: np.ndarray = common @ common.T + (rare @ rare.T).toarray()
    return result


def standardised(
    parts: Sequence[np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Mean and factor of all columns, and the standardised parts side by side, if there are any."""
    if not parts:
        return np.empty(0, np.float32), np.empty(0, np.float32), None
    means, scales = zip(*map(_standards, parts), strict=True)
    mean, scale = np.concatenate(means), np.concatenate(scales)
    return mean, scale, (np.hstack(parts) - mean) * scale


def _standards(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each column, and the factor that gives all columns together a length of about one."""
    spread = vectors.std(axis=0, dtype=np.float64) * np.sqrt(vectors.shape[1])
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > LEAST_SPREAD)
    mean = vectors.mean(axis=0, dtype=np.float64)
    return mean.astype(np.float32), scale.astype(np.float32)
