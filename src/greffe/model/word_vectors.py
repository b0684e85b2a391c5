"""Word vectors without training: a table of neighbours, factorised, as a model's embedding.

Positive pointwise mutual information, then a truncated SVD. Does not know where counts come from.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from greffe.model.model import Model
from greffe.seeding import derive

SMOOTHING = 0.75
"""Power of the contexts' counts: rare ones would else look more telling than they are."""
OVERSAMPLING = 32
ITERATIONS = 3
COORDINATE = 0.05
"""Root mean square of a word vector's coordinates once it is in the embedding."""


def positive_pmi(counts: Tensor) -> Tensor:
    """max(0, log(p(piece, context) / (p(piece) p(context)))) of counts [V, C], in their memory."""
    pieces = counts.sum(dim=1, keepdim=True)
    contexts = counts.sum(dim=0)
    smoothed = contexts**SMOOTHING
    # What never occurred has zeros only: whatever these are divided by, they become zeros again.
    pieces = torch.where(pieces > 0, pieces, 1.0)
    shares = torch.where(contexts > 0, smoothed / smoothed.sum(), 1.0)
    return counts.div_(pieces).div_(shares).log_().clamp_(min=0.0)


def factorise(table: Tensor, width: int, seed: int) -> Tensor:
    """U·√S of a table [V, C]: [V, width], or fewer columns if the table is smaller."""
    smallest = min(table.shape)
    # svd_lowrank draws from the global stream, which others count on.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(seed, "word vectors"))
        u, s, _ = torch.svd_lowrank(table, q=min(width + OVERSAMPLING, smallest), niter=ITERATIONS)
    u, s = u[:, :width], s[:width]
    # A singular vector may as well point the other way: its largest entry is made positive.
    largest = u.gather(0, u.abs().argmax(dim=0, keepdim=True))
    return u * largest.sign() * s.sqrt()


def word_vectors(counts: Tensor, width: int, seed: int) -> tuple[Tensor, Tensor]:
    """Which rows of counts [pieces, contexts] have neighbours, and their vectors, of length one.

    The counts are used up. A table smaller than the width gives as many columns as it has.
    """
    table = positive_pmi(counts)
    is_known = table.any(dim=1)
    if is_known.sum() < 2:  # beside no other, a vector says nothing
        return torch.zeros_like(is_known), table.new_zeros(0, width)
    vectors = factorise(table, width, seed)[is_known]
    vectors -= vectors.mean(dim=0)
    return is_known, torch.nn.functional.normalize(vectors, dim=1)


@torch.no_grad()
def start_embedding(model: Model, pieces: Tensor, counts: Tensor, seed: int) -> int:
    """Put word vectors into the embedding's rows of these pieces; how many got one.

    counts [pieces, contexts] is used up. Rows without neighbours, and columns that the table is
    too small to fill, stay as they are.
    """
    is_known, vectors = word_vectors(counts, model.spec.width, seed)
    size = COORDINATE * math.sqrt(model.spec.width) / model.base.embedding_scale
    model.base.embedding.weight[pieces[is_known], : vectors.shape[1]] = vectors * size
    return len(vectors)
