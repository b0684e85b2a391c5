"""Windows of a text, their mean, and abstention."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.errors import RecipeError
from greffe.inference.prediction import (
    Prediction,
    abstain_below,
    describe_cut,
    mean_over_windows,
    split_windows,
)


def test_the_mean_over_windows_is_weighted_by_their_lengths() -> None:
    texts = [[np.arange(3), np.arange(1)], [np.arange(0)], [np.arange(2)] * 2]
    probabilities = np.array([[1.0, 0], [0, 1], [0.25, 0.75], [0.5, 0.5], [0.1, 0.9]])
    means = mean_over_windows(probabilities, texts)
    np.testing.assert_allclose(means, [[0.75, 0.25], [0.25, 0.75], [0.3, 0.7]])


def test_predictions_below_the_score_abstain_and_keep_their_label() -> None:
    scores = [0.5, 0.6, 0.9]
    found = [Prediction("a", score, {"a": score, "b": 1 - score}) for score in scores]
    marked = list(abstain_below(0.6, iter(found)))
    assert [each.abstains for each in marked] == [True, False, False]
    assert [each.label for each in marked] == ["a"] * 3
    assert [each.probabilities for each in marked] == [each.probabilities for each in found]
    assert list(abstain_below(0.0, iter(found))) == found


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan"), "0.5"])
def test_a_score_that_is_none_is_refused_at_once(score: float) -> None:
    with pytest.raises(RecipeError, match="min_score"):
        abstain_below(score, iter(()))


def test_split_by_cut_never_makes_a_second_window() -> None:
    parts = split_windows(np.arange(100), 14, "cut")
    assert [part.tolist() for part in parts] == [list(range(14))]


def test_the_notice_of_cut_texts_counts_them() -> None:
    assert describe_cut(1, 1, 64).startswith("1 text was longer than the model's context of 64")
    assert "3 texts were" in describe_cut(3, 250, 64)
    assert "250 tokens" in describe_cut(3, 250, 64)
