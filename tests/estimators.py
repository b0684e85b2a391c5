"""Estimators that train in a moment, and texts to fit them on."""

from __future__ import annotations

from typing import Any

from greffe.samples.toy import toy_reviews
from greffe.sklearn import GreffeClassifier

TINY: dict[str, Any] = {
    "base": None,
    "recipe": "tiny",
    "budget": "2steps",
    "precision": "fp32",
    "random_state": 0,
    "changes": (
        *("model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16"),
        *("tokenizer.vocab=300", "train.threads=1"),
    ),
}


def tiny_classifier(**parameters: Any) -> GreffeClassifier:
    """Return a classifier that is trained from scratch in two steps."""
    return GreffeClassifier(**{**TINY, **parameters})


def labelled_texts(count: int = 24) -> tuple[list[str], list[str]]:
    """Return toy reviews, and whether each is negative or positive."""
    labels, texts = zip(*toy_reviews(count, seed=1), strict=True)
    return list(texts), list(labels)
