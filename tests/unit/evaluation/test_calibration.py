"""Temperature scaling: what is found, on windows and on probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.evaluation.calibration import fit_temperature, scale_probabilities, scaled_windows
from greffe.evaluation.metrics import evaluate_probabilities
from greffe.inference.prediction import mean_over_windows
from greffe.seeding import rng

LABELS = ["a", "b", "c"]


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def drawn(temperature: float, count: int = 4000) -> tuple[np.ndarray, list[str]]:
    """Return logits, and labels drawn from their probabilities at a temperature."""
    draw = rng(3, "logits")
    logits = draw.normal(size=(count, 3))
    chances = softmax(logits / temperature).cumsum(axis=1)
    picked = (draw.random((count, 1)) > chances).sum(axis=1)
    return logits, [LABELS[index] for index in picked]


def alone(logits: np.ndarray) -> list[list[np.ndarray]]:
    """One window per text."""
    return [[np.arange(4)] for _ in logits]


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_the_temperature_of_the_labels_is_found(temperature: float) -> None:
    logits, targets = drawn(temperature)
    found = fit_temperature(LABELS, targets, scaled_windows(logits, alone(logits)))
    assert found is not None
    assert found.temperature == pytest.approx(temperature, rel=0.08)
    assert found.texts == 4000
    assert found.log_loss_after <= found.log_loss_before
    if temperature != 1.0:
        assert found.ece_after < found.ece_before / 2
    before = evaluate_probabilities(LABELS, targets, softmax(logits))
    after = evaluate_probabilities(LABELS, targets, softmax(logits / found.temperature))
    assert found.log_loss_before == pytest.approx(before.log_loss)
    assert found.ece_before == pytest.approx(before.calibration_error)
    assert found.log_loss_after == pytest.approx(after.log_loss)
    assert found.ece_after == pytest.approx(after.calibration_error)


def test_no_other_temperature_is_better() -> None:
    logits, targets = drawn(1.7, 300)
    scaled = scaled_windows(logits, alone(logits))
    found = fit_temperature(LABELS, targets, scaled)
    assert found is not None
    for factor in (0.9, 0.99, 1.01, 1.1):
        other = evaluate_probabilities(LABELS, targets, scaled(found.temperature * factor))
        assert other.log_loss > found.log_loss_after


def test_windows_are_scaled_before_their_mean_is_taken() -> None:
    logits = rng(1, "windows").normal(size=(6, 3))
    texts = [[np.arange(5), np.arange(1)], [np.arange(0)], [np.arange(2)] * 3]
    for temperature in (1.0, 0.3):
        np.testing.assert_allclose(
            scaled_windows(logits, texts)(temperature),
            mean_over_windows(softmax(logits / temperature), texts),
            rtol=1e-12,
        )


def test_probabilities_are_scaled_as_their_logits() -> None:
    logits = rng(2, "probabilities").normal(size=(5, 3)) * 4
    probabilities = softmax(logits)
    np.testing.assert_allclose(scale_probabilities(probabilities, 2.5), softmax(logits / 2.5))
    assert scale_probabilities(probabilities, 1.0) is probabilities
    certain = scale_probabilities(np.array([[1.0, 0.0]]), 2.0)
    assert np.isfinite(certain).all() and certain[0, 0] == pytest.approx(1)


def test_labels_that_are_all_right_give_no_temperature() -> None:
    logits, _ = drawn(1.0, 50)
    targets = [LABELS[index] for index in logits.argmax(axis=1)]
    assert fit_temperature(LABELS, targets, scaled_windows(logits, alone(logits))) is None


def test_labels_at_random_give_nearly_equal_probabilities() -> None:
    logits, _ = drawn(1.0, 300)
    targets = [LABELS[index] for index in logits.argmin(axis=1)]
    scaled = scaled_windows(logits, alone(logits))
    found = fit_temperature(LABELS, targets, scaled)
    assert found is not None
    assert 19 < found.temperature <= 20
    assert np.ptp(scaled(found.temperature), axis=1).mean() < 0.15


def test_logits_that_are_far_too_small_get_the_lowest_temperature() -> None:
    logits, targets = drawn(0.5, 300)
    found = fit_temperature(LABELS, targets, scaled_windows(logits / 1000, alone(logits)))
    assert found is not None
    assert found.temperature == pytest.approx(0.05, rel=1e-3) and found.temperature >= 0.05
