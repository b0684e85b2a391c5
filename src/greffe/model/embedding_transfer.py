"""Vocabulary transfer: vectors for the pieces of a new vocabulary from those of the old one.

The vector of a new piece is the mean of the old pieces that it is made of. Word vectors counted in
the new text can be rotated into the old embedding's space and added.
Knows neither tokenizers nor where counts come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from greffe.config.components import HeadSpec

EMBEDDING = "base.embedding.weight"
LEAST_SHARED = 2
"""Minimum number of shared pieces for a rotation, as a multiple of the vectors' columns."""


def transferred_embeddings(
    weights: Mapping[str, Tensor], old_pieces: Sequence[Sequence[int]]
) -> dict[str, Tensor]:
    """Return weights for a new vocabulary, given the old ids that make up each of its pieces."""
    heads = HeadSpec.kinds().items()
    by_piece = {f"heads.{kind}.{name}" for kind, head in heads for name in head.by_piece}
    return {
        name: _mean_rows(tensor, old_pieces) if name in {EMBEDDING, *by_piece} else tensor
        for name, tensor in weights.items()
    }


def _mean_rows(tensor: Tensor, old_pieces: Sequence[Sequence[int]]) -> Tensor:
    """[old, …] → [new, …]."""
    ids = torch.tensor([id for pieces in old_pieces for id in pieces])
    lengths = torch.tensor([0, *(len(pieces) for pieces in old_pieces[:-1])])
    rows = F.embedding_bag(ids, tensor.reshape(len(tensor), -1), lengths.cumsum(0), mode="mean")
    return rows.reshape(-1, *tensor.shape[1:])


def rotation(vectors: Tensor, towards: Tensor) -> Tensor:
    """Return the rotation [columns, width] that brings vectors [N, columns] nearest to others."""
    u, _, v = torch.linalg.svd(vectors.T @ towards, full_matrices=False)
    result: Tensor = u @ v
    return result


@torch.no_grad()
def add_word_vectors(embedding: Tensor, pieces: Tensor, vectors: Tensor, is_shared: Tensor) -> bool:
    """Add word vectors [pieces, columns] of length one to a transferred embedding, in place.

    The rotation is fitted on pieces that both vocabularies have (`is_shared`). Return False and
    change nothing if these are too few: a rotation fits few points whatever they are.
    """
    if is_shared.sum() < LEAST_SHARED * vectors.shape[1]:
        return False
    old = embedding[pieces]
    center = old[is_shared].mean(dim=0)
    old = old - center
    size = old[is_shared].norm(dim=1).mean()
    old = F.normalize(old, dim=1)
    rotated = vectors @ rotation(vectors[is_shared], old[is_shared])
    embedding[pieces] = center + size * F.normalize(old + rotated, dim=1)
    return True
