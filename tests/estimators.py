"""Estimators that learn two words in a moment, and texts to fit them on."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import joblib

from greffe.sklearn import GreffeClassifier

TINY: dict[str, Any] = {
    "base": None,
    "recipe": "tiny",
    "budget": "8steps",
    "precision": "fp32",
    "random_state": 0,
    "changes": (
        *("model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16"),
        *("tokenizer.vocab=300", "train.lr=2e-2", "train.threads=1"),
    ),
}

TEXTS = [f"{word} {word} {number}" for number in range(12) for word in ("bien", "mal")]
LABELS = ["positif", "négatif"] * 12


def tiny_classifier(**parameters: Any) -> GreffeClassifier:
    """Return a classifier that is trained from scratch in a few steps."""
    return GreffeClassifier(**{**TINY, **parameters})


def pickled(estimator: GreffeClassifier) -> GreffeClassifier:
    """Return the estimator as it arrives in another process."""
    file = BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    arrived: GreffeClassifier = joblib.load(file)
    return arrived
