"""Latent semantic analysis of texts without labels: which words occur in similar texts.

A truncated singular value decomposition of the texts' TF-IDF rows. Each direction is as long as its
singular value: a penalized linear model then prefers the directions that most texts follow. A
linear model on these few directions is a linear model on the terms again, so that nothing but terms
and weights is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from greffe.baselines.tfidf import LATENT, Tfidf
from greffe.errors import DataError
from greffe.seeding import rng

DIMENSIONS = 200
POWER_ITERATIONS = 3
MOST_TEXTS = 40_000
"""Texts that are analysed; more of them change the directions little."""
LONGEST = 4_000
"""Characters of a text that are read."""
LEAST_TEXTS = 1_000
"""Fewer say too little about words."""


@dataclass(frozen=True)
class LatentSemantics:
    """Terms of the analysed texts, and the directions [terms, dimensions] found in them."""

    tfidf: Tfidf
    directions: np.ndarray

    @classmethod
    def fit(cls, texts: Sequence[str], seed: int = 0) -> Self:
        """Analyse texts; few texts or words give fewer dimensions."""
        from sklearn.utils.extmath import randomized_svd

        tfidf, rows = Tfidf.fit(texts, LATENT)
        dimensions = max(1, min(DIMENSIONS, min(rows.shape) - 1))
        _, strengths, directions = randomized_svd(
            rows, dimensions, n_iter=POWER_ITERATIONS, random_state=seed
        )
        return cls(tfidf, (directions.T * (strengths / strengths[0])).astype(np.float32))

    @property
    def columns(self) -> int:
        """Number of features."""
        return int(self.directions.shape[1])

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector per text [N, columns], float32."""
        found: np.ndarray = self.tfidf.transform(texts) @ self.directions
        return found


def sample_texts(texts: Iterable[str], seed: int = 0, most: int = MOST_TEXTS) -> list[str]:
    """Return at most so many of the texts, every text equally likely (reservoir sampling)."""
    draw, kept = rng(seed, "latent"), list[str]()
    for number, text in enumerate(texts):
        if len(kept) < most:
            kept.append(text[:LONGEST])
        elif (place := int(draw.integers(number + 1))) < most:
            kept[place] = text[:LONGEST]
    return kept


def require_enough(texts: Sequence[str]) -> None:
    """Raise an error if there are too few texts for an analysis."""
    if len(texts) < LEAST_TEXTS:
        raise DataError(
            "There are too few texts without labels.",
            expected=f"at least {LEAST_TEXTS:,} documents",
            found=f"{len(texts):,}",
            hint="add more text, or leave out --unlabelled",
        )
