"""Ensembles: the geometric mean of probabilities, whatever the order of the classes."""

from __future__ import annotations

import numpy as np

from greffe.baselines.ensembling import ensemble_classifier, ensemble_probabilities
from greffe.baselines.features import FeatureRun

SURE = np.array([[0.9, 0.1], [0.2, 0.8]])
UNSURE = np.array([[0.4, 0.6], [0.5, 0.5]])
TEXTS = ["x", "y"]


def fixed(probabilities: np.ndarray) -> FeatureRun:
    return FeatureRun(probabilities.shape[1], lambda texts: probabilities[: len(texts)])


def geometric_mean(*probabilities: np.ndarray) -> np.ndarray:
    product = np.prod(probabilities, axis=0) ** (1 / len(probabilities))
    normalized: np.ndarray = product / product.sum(axis=1, keepdims=True)
    return normalized


def test_known_probabilities() -> None:
    found = ensemble_probabilities([SURE, UNSURE, SURE])
    np.testing.assert_allclose(found, geometric_mean(SURE, UNSURE, SURE), rtol=1e-5, atol=1e-6)


def test_a_classifier_gives_the_same() -> None:
    both = ensemble_classifier([fixed(SURE), fixed(UNSURE)], [["a", "b"]] * 2, ["a", "b"])
    expected = ensemble_probabilities([SURE, UNSURE])
    np.testing.assert_allclose(both.probabilities(TEXTS), expected, rtol=1e-6)


def test_runs_may_have_different_class_orders() -> None:
    readers = [fixed(SURE), fixed(UNSURE[:, ::-1])]
    found = ensemble_classifier(readers, [["a", "b"], ["b", "a"]], ["a", "b"])
    expected = ensemble_probabilities([SURE, UNSURE])
    np.testing.assert_allclose(found.probabilities(TEXTS), expected, rtol=1e-6)
