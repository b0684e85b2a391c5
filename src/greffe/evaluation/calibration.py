"""Temperature scaling: one number that all logits are divided by, fitted to labelled texts.

Labels stay the same, apart from long texts whose windows disagree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from greffe.config.bounds import CalibrationTemperature, bounds_of
from greffe.evaluation.metrics import calibration_error, label_indices
from greffe.run import Calibration

Scaled = Callable[[float], np.ndarray]
"""Probabilities [N, classes] at a temperature."""
_TINY = np.finfo(np.float64).tiny


def fit_temperature(
    labels: Sequence[str], targets: Sequence[str], scaled: Scaled
) -> Calibration | None:
    """Return the temperature with the lowest log loss on labelled texts.

    None if they give no temperature: where all labels are right, the lowest is always the best.
    """
    from scipy import optimize

    true = label_indices(labels, targets)
    before = scaled(1.0)
    if (before.argmax(axis=1) == true).all():
        return None

    def loss(log_temperature: float) -> float:
        return _log_loss(true, scaled(math.exp(log_temperature)))

    bounds = bounds_of(CalibrationTemperature)
    assert bounds is not None
    limits = (math.log(bounds.low), math.log(bounds.high))
    found = optimize.minimize_scalar(loss, bounds=limits, method="bounded", options={"xatol": 1e-4})
    temperature = min(max(math.exp(found.x), bounds.low), bounds.high)
    after = scaled(temperature)
    return Calibration(
        temperature=temperature,
        texts=len(targets),
        log_loss_before=_log_loss(true, before),
        log_loss_after=_log_loss(true, after),
        ece_before=calibration_error(true, before),
        ece_after=calibration_error(true, after),
    )


def scaled_windows(logits: np.ndarray, texts: Sequence[Sequence[np.ndarray]]) -> Scaled:
    """Return how the probabilities of texts follow from the logits of all windows, in order."""
    from scipy import special

    lengths = [[len(window) for window in windows] for windows in texts]
    # The single window of an empty text has no tokens.
    parts = [np.array(some if sum(some) else [1] * len(some), float) for some in lengths]
    weights = np.concatenate([part / part.sum() for part in parts])[:, None]
    starts = np.cumsum([0, *map(len, parts[:-1])])

    def scaled(temperature: float) -> np.ndarray:
        probabilities = special.softmax(logits / temperature, axis=1)
        means: np.ndarray = np.add.reduceat(probabilities * weights, starts, axis=0)
        return means

    return scaled


def scale_probabilities(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Return probabilities [N, classes] whose logits are divided by the temperature."""
    if temperature == 1.0:
        return probabilities
    from scipy import special

    # Logits are logarithms of the probabilities, up to a number that the softmax ignores.
    logits = np.log(np.maximum(probabilities, _TINY))
    scaled: np.ndarray = special.softmax(logits / temperature, axis=1)
    return scaled


def _log_loss(true: np.ndarray, probabilities: np.ndarray) -> float:
    right = probabilities[np.arange(len(true)), true]
    return float(-np.log(np.maximum(right, _TINY)).mean())
