"""What users of scikit-learn pass: texts and labels of many containers, as plain arrays.

Wrong input is a ValueError or a TypeError in scikit-learn's words. Knows no model and no run.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from greffe.errors import CorruptError
from greffe.run import LabelType

Array = npt.NDArray[Any]

_MISSING = ("NAType", "NaTType")
"""Types of pandas for a missing value, which need not be installed."""


def check_texts(X: Any, estimator: str) -> list[str]:
    """Return a list, array, series or column of texts as a list."""
    if not issparse(X):
        X = np.asarray(X, dtype=object)
        _refuse_missing(X, "X", estimator)
    array = check_array(X, dtype=object, ensure_2d=False, input_name="X", estimator=estimator)
    if array.ndim == 2 and array.shape[1] != 1:
        raise ValueError(
            f"{estimator} expects one column of texts, got an array of shape {array.shape} instead."
        )
    texts = array.ravel().tolist()
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(
                f"{estimator} expects texts of type str, got {type(text).__name__} in X[{index}]."
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"X[{index}] is not valid Unicode: {error.reason}.") from None
    return [str(text) for text in texts]


def check_labels(y: Any, estimator: str) -> Array:
    """Return labels as an array of one dimension, with the type that they had."""
    array: Array = column_or_1d(np.asarray(y), warn=True)
    # numpy writes a missing value among texts as "nan": look at what was given.
    _refuse_missing(np.asarray(y, dtype=object), "y", estimator)
    assert_all_finite(array, input_name="y", estimator_name=estimator)
    check_classification_targets(array)
    return array


def _refuse_missing(values: Array, name: str, estimator: str) -> None:
    for index, value in enumerate(values.ravel()):
        if _is_missing(value):
            raise ValueError(
                f"Input {name} contains NaN.\n"
                f"{estimator} does not accept missing values: {name}[{index}] is {value!r}."
            )


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in _MISSING:
        return True
    return isinstance(value, Real) and value != value


# --- labels as a run records them -----------------------------------------------------------------


def label_texts(classes: Array) -> list[str]:
    """Return the classes as text, which is what a run records; distinct as they are."""
    return [str(label) for label in classes.tolist()]


def label_type(classes: Array) -> LabelType:
    """Return what the classes are before they become text."""
    types: dict[str, LabelType] = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}
    return types.get(classes.dtype.kind, "text")


def classes_of(labels: Sequence[str], kind: LabelType) -> Array:
    """Return the labels of a run as sorted classes of their type."""
    try:
        match kind:
            case "boolean":
                classes = np.array([label == "True" for label in labels])
            case "integer":
                classes = np.array([int(label) for label in labels])
            case "number":
                classes = np.array([float(label) for label in labels])
            case "text":
                classes = np.array(labels, dtype=object)
    except ValueError:
        classes = np.array([])
    if label_texts(classes) != list(labels):
        raise CorruptError(
            "The labels of the run are not of the type that it records.",
            expected=f"labels of the type {kind}",
            found=", ".join(labels[:5]),
        )
    return np.unique(classes)
