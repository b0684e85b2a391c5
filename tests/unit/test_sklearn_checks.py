"""scikit-learn's own checks of an estimator.

For an estimator of texts, scikit-learn 1.9 generates a single check. Here a subclass takes rows of
numbers too, as texts, so that all checks are generated. What is not a valid row of numbers goes to
the estimator as it is.
"""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator
from tests.estimators import TINY

from greffe.sklearn import GreffeClassifier

NOT_APPLICABLE = {
    "check_n_features_in": "a text has no number of features",
    "check_n_features_in_after_fitting": "a text has no number of features",
    "check_classifiers_train": "a text has no number of features that could be wrong in predict",
    "check_complex_data": "numbers are refused because they are not texts, complex or not",
    "check_dtype_object": "numbers are refused, as objects too",
    "check_estimators_nan_inf": "infinity is refused as a number; NaN is a missing text",
    "check_fit2d_predict1d": "one dimension is what texts have",
}
"""Checks that an estimator of texts cannot pass, and why."""
NEEDS_A_SETTING = {"check_array_api_input"}
"""Checks that skip themselves unless SCIPY_ARRAY_API is set before scipy is imported."""


class RowsAsTexts(GreffeClassifier):
    """Reads each row of a numeric matrix as a text."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = False
        tags.input_tags.two_d_array = True
        tags.non_deterministic = False  # with a number of steps, and in fp32
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        return super().fit(_texts(X), y)

    def predict_proba(self, X: Any) -> np.ndarray:
        return super().predict_proba(_texts(X))


def _texts(X: Any) -> Any:
    array = np.asarray(X)
    is_matrix = array.ndim == 2 and array.size > 0 and array.dtype.kind in "biuf"
    if not is_matrix or not np.isfinite(array).all():
        return X
    return [" ".join(f"{value:.1f}" for value in row) for row in array.tolist()]


@pytest.mark.slow
def test_every_check_that_applies_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a third of the time
    results = check_estimator(
        RowsAsTexts(**{**TINY, "budget": "1steps"}),
        expected_failed_checks=NOT_APPLICABLE,
        on_fail=None,
        on_skip=None,
    )
    found: dict[str, dict[str, Any]] = {}
    for result in results:
        found.setdefault(result["status"], {})[result["check_name"]] = result["exception"]
    assert found.get("failed", {}) == {}
    assert found["xfail"].keys() == NOT_APPLICABLE.keys()
    assert found["skipped"].keys() == NEEDS_A_SETTING
    assert len(found["passed"]) >= 40


def test_scikit_learn_knows_that_it_takes_texts() -> None:
    with pytest.warns(SkipTestWarning, match="one_d_array=True, two_d_array=False"):
        results = check_estimator(GreffeClassifier(), on_skip=None)
    assert {result["status"] for result in results} == {"passed"}
