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

EMBEDDING = "base.embedding.weight"
BY_PIECE = (
    EMBEDDING,
    *(
        f"heads.{kind}.{name}"
        for kind in ("next_token", "masked_token")
        for name in ("weight", "bias")
    ),
)
"""Tensors with a row a piece."""


def respelt(weights: Mapping[str, Tensor], spellings: Sequence[Sequence[int]]) -> dict[str, Tensor]:
    """The weights for a vocabulary whose pieces are spelt by these ids of the old one."""
    return {
        name: _mean_rows(tensor, spellings) if name in BY_PIECE else tensor
        for name, tensor in weights.items()
    }


def _mean_rows(tensor: Tensor, spellings: Sequence[Sequence[int]]) -> Tensor:
    """[old, …] → [new, …]."""
    ids = torch.tensor([id for spelling in spellings for id in spelling])
    lengths = torch.tensor([len(spelling) for spelling in spellings])
    places = torch.repeat_interleave(torch.arange(len(spellings)), lengths)
    rows = tensor.new_zeros(len(spellings), *tensor.shape[1:]).index_add_(0, places, tensor[ids])
    return rows / lengths.view(-1, *[1] * (tensor.dim() - 1))


def rotation(vectors: Tensor, towards: Tensor) -> Tensor:
    """The rotation [width, width] after which vectors [N, width] lie nearest to others."""
    u, _, v = torch.linalg.svd(vectors.T @ towards)
    turn: Tensor = u @ v
    return turn


@torch.no_grad()
def add_word_vectors(embedding: Tensor, pieces: Tensor, vectors: Tensor, is_shared: Tensor) -> bool:
    """Mix word vectors [pieces, width] of length one into a respelt embedding, in place.

    Pieces that both vocabularies have (`is_shared`) show how the vectors are to be turned. False,
    and nothing is changed, where these are fewer than the vectors' coordinates.
    """
    if is_shared.sum() < vectors.shape[1]:
        return False
    old = embedding[pieces]
    centre = old[is_shared].mean(dim=0)
    old = old - centre
    size = old[is_shared].norm(dim=1).mean()
    old = F.normalize(old, dim=1)
    turn = rotation(vectors[is_shared], old[is_shared])
    embedding[pieces] = centre + size * F.normalize(old + vectors @ turn, dim=1)
    return True
