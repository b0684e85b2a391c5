"""What a prediction is, the windows of a long text, and their mean; knows no model, nor torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from greffe.config.bounds import Fraction, check_number
from greffe.config.options import LongTexts

MIN_PROBABILITY = 1e-6
"""Smaller probabilities count as this one: as features, no text outweighs all others."""


@dataclass(frozen=True)
class Prediction:
    """The prediction for one text."""

    label: str
    """The most likely class, also if the model abstains."""
    score: float
    """Probability of the label."""
    probabilities: dict[str, float]
    windows: int = 1
    """Number of windows the text was split into."""
    cut: int = 0
    """Number of tokens that were cut off."""
    abstains: bool = False
    """Whether the score is below the `min_score` that was asked for."""

    @classmethod
    def of(
        cls, labels: Sequence[str], probabilities: np.ndarray, windows: int = 1, cut: int = 0
    ) -> Self:
        """Return the prediction with these probabilities [classes], in the order of the labels."""
        best = int(probabilities.argmax())
        return cls(
            label=labels[best],
            score=float(probabilities[best]),
            probabilities=dict(zip(labels, probabilities.tolist(), strict=True)),
            windows=windows,
            cut=cut,
        )


def abstain_below(min_score: float, predictions: Iterator[Prediction]) -> Iterator[Prediction]:
    """Yield the predictions; those with a lower score abstain."""
    check_number("min_score", min_score, Fraction, example="0.8")
    # A generator function would check the number only when the first result is requested.
    return (
        replace(prediction, abstains=True) if prediction.score < min_score else prediction
        for prediction in predictions
    )


def split_windows(ids: np.ndarray, longest: int, long: LongTexts) -> list[np.ndarray]:
    """Split ids into windows of similar size, at most `longest` each, or cut them at `longest`."""
    if long == "cut":
        return [ids[:longest]]
    return np.array_split(ids, max(1, -(-len(ids) // longest)))


def mean_over_windows(
    probabilities: np.ndarray, texts: Sequence[Sequence[np.ndarray]]
) -> np.ndarray:
    """Return probabilities [N, classes] of texts: the mean, weighted by their windows' lengths.

    `probabilities` are [windows of all texts, classes], in the order of the texts.
    """
    means = np.empty((len(texts), probabilities.shape[1]))
    first = 0
    for number, windows in enumerate(texts):
        # Weights must not sum to zero: the single window of an empty text has no tokens.
        weights = [len(window) for window in windows] if len(windows) > 1 else None
        inside = probabilities[first : first + len(windows)]
        means[number] = np.average(inside, axis=0, weights=weights)
        first += len(windows)
    return means


def mean_vectors(vectors: np.ndarray, texts: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Return vectors [N, columns] of texts, float32: the mean, weighted by their windows' lengths.

    `vectors` are [windows of all texts, columns], in the order of the texts.
    """
    if len(vectors) == len(texts):
        return vectors
    lengths = [len(window) for windows in texts for window in windows]
    weights = np.array(lengths, dtype=np.float32)
    weights[weights == 0] = 1.0  # an empty text is its one window
    first = np.cumsum([0, *(len(windows) for windows in texts[:-1])])
    sums = np.add.reduceat(vectors * weights[:, None], first, axis=0)
    mean: np.ndarray = sums / np.add.reduceat(weights, first)[:, None]
    return mean


def centered_logs(probabilities: np.ndarray) -> np.ndarray:
    """Turn probabilities [N, classes] into logarithms minus their mean over classes, float32."""
    logs = np.log(np.maximum(probabilities, MIN_PROBABILITY))
    centered: np.ndarray = logs - logs.mean(axis=1, keepdims=True)
    return centered.astype(np.float32)


def describe_cut(texts: int, tokens: int, context: int | None) -> str:
    """Return the notice about texts that were cut."""
    return (
        f"{texts} {'text was' if texts == 1 else 'texts were'} longer than the model's context of "
        f"{context} tokens and cut: {tokens} tokens were ignored (windows use the whole text)"
    )
