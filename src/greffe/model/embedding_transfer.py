"""A new vocabulary for old weights: vectors of new pieces from those of the old ones.

A piece begins as the mean of the old pieces that spell it. Word vectors counted in the new text
can be turned into the old embedding's space and added: they know what spelling does not tell.
Does not know tokenizers, nor where counts come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from greffe.config.components import HeadSpec

EMBEDDING = "base.embedding.weight"
LEAST_SHARED = 2
"""So many times the vectors' columns are asked of pieces by which these are turned."""


def spelled_embeddings(
    weights: Mapping[str, Tensor], spellings: Sequence[Sequence[int]]
) -> dict[str, Tensor]:
    """The weights for a vocabulary whose pieces are spelt by these ids of the old one."""
    heads = HeadSpec.kinds().items()
    by_piece = {f"heads.{kind}.{name}" for kind, head in heads for name in head.by_piece}
    return {
        name: _mean_rows(tensor, spellings) if name in {EMBEDDING, *by_piece} else tensor
        for name, tensor in weights.items()
    }


def _mean_rows(tensor: Tensor, spellings: Sequence[Sequence[int]]) -> Tensor:
    """[old, …] → [new, …]."""
    ids = torch.tensor([id for spelling in spellings for id in spelling])
    lengths = torch.tensor([0, *(len(spelling) for spelling in spellings[:-1])])
    rows = F.embedding_bag(ids, tensor.reshape(len(tensor), -1), lengths.cumsum(0), mode="mean")
    return rows.reshape(-1, *tensor.shape[1:])


def rotation(vectors: Tensor, towards: Tensor) -> Tensor:
    """The rotation [columns, width] after which vectors [N, columns] lie nearest to others."""
    u, _, v = torch.linalg.svd(vectors.T @ towards, full_matrices=False)
    turn: Tensor = u @ v
    return turn


@torch.no_grad()
def add_word_vectors(embedding: Tensor, pieces: Tensor, vectors: Tensor, is_shared: Tensor) -> bool:
    """Mix word vectors [pieces, columns] of length one into a respelt embedding, in place.

    Pieces that both vocabularies have (`is_shared`) show how the vectors are to be turned. False,
    and nothing is changed, where these are few: some rotation would suit them, whatever they are.
    """
    if is_shared.sum() < LEAST_SHARED * vectors.shape[1]:
        return False
    old = embedding[pieces]
    centre = old[is_shared].mean(dim=0)
    old = old - centre
    size = old[is_shared].norm(dim=1).mean()
    old = F.normalize(old, dim=1)
    turn = rotation(vectors[is_shared], old[is_shared])
    embedding[pieces] = centre + size * F.normalize(old + vectors @ turn, dim=1)
    return True
