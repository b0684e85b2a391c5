"""Auxiliary data for a linear model: labelled texts from elsewhere, in the same fit as your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from greffe.baselines.tfidf import SHARED, Tfidf
from greffe.data.tables import Example
from greffe.evaluation.metrics import label_indices

AUXILIARY_WEIGHT = 0.3
"""Weight of an auxiliary text relative to one of your own, before classes are balanced."""
AUXILIARY_PENALTIES = (3.0, 10.0, 30.0)
AUXILIARY_TOLERANCE = 1e-4
"""With so many texts, an exact solution gains nothing."""


@dataclass(frozen=True)
class AuxiliaryData:
    """Auxiliary texts, their class numbers [M] and sample weights [M]."""

    texts: list[str]
    targets: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, tables: Sequence[Sequence[Example]], labels: list[str]) -> Self:
        """Join tables; inside each table, all classes have the same total weight."""
        from sklearn.utils.class_weight import compute_sample_weight

        targets = [label_indices(labels, [one.label for one in table]) for table in tables]
        return cls(
            [one.text for table in tables for one in table],
            np.concatenate(targets),
            AUXILIARY_WEIGHT
            * np.concatenate([compute_sample_weight("balanced", each) for each in targets]),
        )


def add_shared_words(
    tfidf: Tfidf | None, rows: Any, texts: Sequence[str], auxiliary: AuxiliaryData
) -> tuple[Tfidf, Any, Any]:
    """Add a last block of words shared with the auxiliary texts.

    What holds for all texts is learned on the shared words, from all texts; your own features say
    where your texts differ. Return the vectorizers, the rows of your own texts, and the auxiliary
    texts' rows of the shared words only.
    """
    from scipy import sparse

    shared, words = Tfidf.fit([*texts, *auxiliary.texts], SHARED)
    own, others = words[: len(texts)], words[len(texts) :]
    if tfidf is None:
        return shared, own, others
    return tfidf | shared, sparse.hstack((rows, own), format="csr"), others
