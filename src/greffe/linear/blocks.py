"""Features of texts in two blocks, sparse TF-IDF and dense vectors, weighed against each other.

Knows no texts and no labels. The sparse rows have a fixed length, the dense ones a length of one on
average times a weight that is to be chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

DENSE_SHARE = 0.05
"""Columns that more of the texts have than this are multiplied as dense ones."""


@dataclass(frozen=True)
class Products:
    """Inner products of texts with each other, [N, N] by block; what either lacks is None."""

    sparse: np.ndarray | None
    dense: np.ndarray | None

    def weighed(self, weight: float) -> np.ndarray:
        """Of both blocks together, the dense rows made `weight` times as long."""
        if self.dense is None:
            assert self.sparse is not None
            return self.sparse
        scaled = self.dense * weight**2
        return scaled if self.sparse is None else self.sparse + scaled


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

    def products(self) -> Products:
        """Inner products, block by block."""
        vectors = None if self.dense is None else self.dense.astype(np.float64)
        return Products(
            None if self.sparse is None else gram(self.sparse),
            None if vectors is None else vectors @ vectors.T,
        )

    def weighed(self, weight: float) -> Any:
        """Both blocks side by side as one matrix, the dense rows `weight` times as long."""
        from scipy import sparse

        if self.dense is None:
            return self.sparse
        scaled = self.dense * np.float32(weight)
        if self.sparse is None:
            return scaled
        return sparse.hstack((self.sparse, sparse.csr_array(scaled)), format="csr")

    def combined(self, shares: np.ndarray, weight: float) -> np.ndarray:
        """Texts added up by their shares [N, K]: [columns, K], as `weighed(weight).T @ shares`."""
        parts: Sequence[np.ndarray] = [
            *([] if self.sparse is None else [self.sparse.T @ shares]),
            *([] if self.dense is None else [weight * (self.dense.T @ shares)]),
        ]
        return np.vstack(parts)


def gram(rows: Any) -> np.ndarray:
    """Inner products of sparse rows with each other; [N, N]."""
    found_in = np.bincount(rows.indices, minlength=rows.shape[1])
    is_common = found_in > DENSE_SHARE * rows.shape[0]
    common = rows[:, is_common].toarray().astype(np.float64)
    rare = rows[:, ~is_common].astype(np.float64)
    result: np.ndarray = common @ common.T + (rare @ rare.T).toarray()
    return result
