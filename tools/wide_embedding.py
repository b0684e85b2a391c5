"""Give a base an embedding of word vectors, and a projection to the space that its blocks know.

The blocks of a trained base read embeddings of their own. Word vectors from elsewhere replace these
without loss: they stay as they are in the table, and a linear map, fitted to the old embedding,
brings them into its space. Columns for what the map cannot reach are added to the table.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

COORDINATE = 0.05
"""Root mean square of the added columns."""
EMBEDDING, PROJECTION = "base.embedding.weight", "base.embedding_projection"
OUTPUT = "heads.next_token.projection.weight"

Matrix = npt.NDArray[np.float32]


def widen(
    weights: Mapping[str, Tensor],
    new: Mapping[str, Tensor],
    vectors: Matrix,
    counts: npt.NDArray[np.int64],
) -> dict[str, Tensor]:
    """Return weights of the new model: the old blocks, with these word vectors as embedding.

    `new` are the fresh weights of a model whose embedding is wider than the vectors [vocab, width];
    tensors of other shapes than in `weights`, such as those of the masked-token head, stay fresh.
    """
    columns = new[EMBEDDING].shape[1] - vectors.shape[1]
    old = _embedding(weights)
    table, projection, bias = factorize(old, vectors, counts, columns)
    kept = {
        name: weights[name].float()
        if name in weights and weights[name].shape == fresh.shape
        else fresh
        for name, fresh in new.items()
    }
    return kept | {
        EMBEDDING: torch.from_numpy(table),
        f"{PROJECTION}.weight": torch.from_numpy(projection.T.copy()),
        f"{PROJECTION}.bias": torch.from_numpy(bias),
        OUTPUT: torch.from_numpy(projection),
    }


def _embedding(weights: Mapping[str, Tensor]) -> Matrix:
    """Return what the blocks read for each piece [vocab, width]."""
    table: Matrix = weights[EMBEDDING].float().numpy()
    if f"{PROJECTION}.weight" not in weights:
        return table
    projection, bias = (
        weights[f"{PROJECTION}.{name}"].float().numpy() for name in ("weight", "bias")
    )
    projected: Matrix = table @ projection.T + bias
    return projected


def factorize(
    embedding: Matrix, vectors: Matrix, counts: npt.NDArray[np.int64], columns: int
) -> tuple[Matrix, Matrix, Matrix]:
    """Return table [vocab, D], projection [D, width] and bias with table @ projection + bias near
    the embedding [vocab, width], frequent pieces first; D is the vectors' width and `columns` more.
    """
    weights = np.sqrt(counts + 1.0)[:, None]
    inputs = np.hstack([vectors, np.ones((len(vectors), 1))])
    fitted = np.linalg.lstsq(inputs * weights, embedding * weights, rcond=1e-4)[0]
    rest = embedding - inputs @ fitted
    components = np.linalg.svd((rest * weights).T @ (rest * weights))[0][:, :columns]
    added = rest @ components
    scale = np.sqrt((added**2).mean()) / COORDINATE
    table = np.hstack([vectors, added / scale])
    projection = np.vstack([fitted[:-1], scale * components.T])
    return (
        table.astype(np.float32),
        projection.astype(np.float32),
        fitted[-1].astype(np.float32),
    )
