"""Features of texts in two blocks, sparse TF-IDF and dense vectors, weighed against each other.

Knows no texts and no labels. The sparse rows have a fixed length, the dense ones a length of one on
average times a weight that is to be chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

DENSE_SHARE = 0.05
"""Columns that more of the texts have than this are multiplied as dense ones."""
LIFT = 1e-6
"""Keeps the square root of inner products real; a share of their mean diagonal."""


@dataclass(frozen=True)
class Blocks:
    """Rows of the same texts: sparse [N, terms], dense [N, F], or one of them."""

    sparse: Any
    dense: np.ndarray | None

    def of(self, places: np.ndarray) -> Blocks:
        """The rows of some texts."""
        return Blocks(
            None if self.sparse is None else self.sparse[places],
            None if self.dense is None else self.dense[places],
        )

    def rows(self, weight: float) -> Any:
        """Both blocks side by side as one matrix, the dense rows `weight` times as long."""
        from scipy import sparse

        if self.dense is None:
            return self.sparse
        scaled = self.dense * np.float32(weight)
        if self.sparse is None:
            return scaled
        return sparse.hstack((self.sparse, sparse.csr_array(scaled)), format="csr")


class Compact:
    """The same texts with the same inner products, in at most as many columns as there are texts.

    A model with an L2 penalty sees no difference: its weights are a sum of the texts' own rows, so
    only inner products matter, and any square root of them will do.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        if blocks.sparse is not None:
            self._of_terms = gram(blocks.sparse)
            dense = np.zeros((len(self._of_terms), 0)) if blocks.dense is None else blocks.dense
            vectors = dense.astype(np.float64)
            self._of_vectors = vectors @ vectors.T

    def rows(self, weight: float) -> np.ndarray:
        """Compact rows [N, at most N] of `Blocks.rows(weight)`."""
        from scipy import linalg

        if self.blocks.sparse is None:
            dense: np.ndarray = self.blocks.rows(weight).astype(np.float64)
            return dense
        products = self._of_terms + weight**2 * self._of_vectors
        # Equal texts, or empty ones, would leave nothing on the diagonal.
        products[np.diag_indices_from(products)] += LIFT * (np.trace(products) / len(products) + 1)
        root: np.ndarray = linalg.cholesky(products, lower=True, overwrite_a=True)
        return root

    def unfolded(self, rows: np.ndarray, weights: np.ndarray, weight: float) -> np.ndarray:
        """Weights for compact rows [·, K] → the same for the columns of `Blocks.rows`."""
        from scipy import linalg

        if self.blocks.sparse is None:
            return weights
        shares = linalg.solve_triangular(rows, weights, trans=1, lower=True)  # [N, K]
        unfolded: np.ndarray = self.blocks.rows(weight).T @ shares
        return unfolded


def gram(rows: Any) -> np.ndarray:
    """Inner products of sparse rows with each other; [N, N]."""
    found_in = np.bincount(rows.indices, minlength=rows.shape[1])
    is_common = found_in > DENSE_SHARE * rows.shape[0]
    common = rows[:, is_common].toarray().astype(np.float64)
    rare = rows[:, ~is_common].astype(np.float64)
    result: np.ndarray = common @ common.T + (rare @ rare.T).toarray()
    return result
