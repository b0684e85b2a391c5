from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.evaluation.metrics import evaluate_probabilities


@given(
    examples=st.integers(1, 60),
    classes=st.integers(2, 6),
    seed=st.integers(0, 2**32 - 1),
    sharpness=st.floats(0.01, 20),
)
@settings(deadline=None, max_examples=40)
def test_figures_agree_with_each_other(
    examples: int, classes: int, seed: int, sharpness: float
) -> None:
    rng = np.random.default_rng(seed)
    labels = [f"class {number}" for number in range(classes)]
    scores = np.exp(sharpness * rng.standard_normal((examples, classes)))
    probabilities = scores / scores.sum(axis=1, keepdims=True)
    true = rng.integers(0, classes, examples)
    result = evaluate_probabilities(labels, [labels[number] for number in true], probabilities)
    confusion = np.array(result.confusion)

    assert result.examples == confusion.sum() == examples
    assert result.accuracy == pytest.approx(np.trace(confusion) / examples)
    assert [score.support for score in result.per_class] == confusion.sum(axis=1).tolist()
    # One bin would give the gap of the means; finer bins never less, and never more than one.
    overall = abs(probabilities.max(axis=1).mean() - result.accuracy)
    assert overall - 1e-9 <= result.calibration_error <= 1
    assert 0 <= result.macro_f1 <= 1
    assert result.log_loss >= 0
