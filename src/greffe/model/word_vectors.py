"""Word vectors without training: a factorized co-occurrence table as a model's embedding.

Positive pointwise mutual information, then a truncated SVD. Knows nothing of how words are counted.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from greffe.model.model import Model
from greffe.seeding import derive

SMOOTHING = 0.75
"""Exponent of the contexts' counts, to lower the weight of rare contexts."""
OVERSAMPLING = 32
ITERATIONS = 3
COORDINATE = 0.05
"""Root mean square of a word vector's coordinates once it is in the embedding."""


def positive_pmi(counts: Tensor) -> Tensor:
    """Return max(0, log(p(piece, context) / (p(piece) p(context)))) of counts [V, C], in place."""
    pieces = counts.sum(dim=1, keepdim=True)
    contexts = counts.sum(dim=0)
    smoothed = contexts**SMOOTHING
    # A row or column that never occurred is all zeros: any divisor gives zeros again.
    pieces = torch.where(pieces > 0, pieces, 1.0)
    fractions = torch.where(contexts > 0, smoothed / smoothed.sum(), 1.0)
    return counts.div_(pieces).div_(fractions).log_().clamp_(min=0.0)


def factorize(table: Tensor, width: int, seed: int) -> Tensor:
    """Return U·√S of a table [V, C]: [V, width], or fewer columns if the table is smaller."""
    smallest = min(table.shape)
    # svd_lowrank draws from the global random state, which must not change.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(seed, "word vectors"))
        u, s, _ = torch.svd_lowrank(table, q=min(width + OVERSAMPLING, smallest), niter=ITERATIONS)
    u, s = u[:, :width], s[:width]
    # The sign of a singular vector is arbitrary: make its largest entry positive.
    largest = u.gather(0, u.abs().argmax(dim=0, keepdim=True))
    return u * largest.sign() * s.sqrt()


def word_vectors(counts: Tensor, width: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return which rows of counts [pieces, contexts] have a vector, and these vectors, normalized.

    The counts are overwritten. A table smaller than the width gives as many columns as it has.
    """
    table = positive_pmi(counts)
    is_known = table.any(dim=1)
    if is_known.sum() < 2:  # a single vector carries no information
        return torch.zeros_like(is_known), table.new_zeros(0, width)
    vectors = factorize(table, width, seed)[is_known]
    vectors -= vectors.mean(dim=0)
    return is_known, torch.nn.functional.normalize(vectors, dim=1)


@torch.no_grad()
def start_embedding(model: Model, pieces: Tensor, counts: Tensor, seed: int) -> int:
    """Write word vectors into the embedding's rows of these pieces; return how many.

    counts [pieces, contexts] is overwritten. Rows without neighbors, and columns beyond the size of
    the table, keep their values.
    """
    is_known, vectors = word_vectors(counts, model.spec.token_width, seed)
    size = COORDINATE * math.sqrt(model.spec.token_width) / model.base.embedding_scale
    model.base.embedding.weight[pieces[is_known], : vectors.shape[1]] = vectors * size
    return len(vectors)
