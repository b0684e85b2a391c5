"""Texts and labels of many containers, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import DataConversionWarning
from tests.estimators import tiny_classifier

from greffe.errors import CorruptError
from greffe.sklearn.inputs import (
    check_labels,
    check_texts,
    classes_of,
    label_texts,
    label_type,
)

TEXTS = ["un", "deux", ""]
ARROW = pd.ArrowDtype(pa.string())


@pytest.mark.parametrize(
    "X",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        np.array(TEXTS)[:, None],
        [[text] for text in TEXTS],
        pd.Series(TEXTS, index=[7, 8, 9]),
        pd.Series(TEXTS, dtype=object),
        pd.Series(TEXTS, dtype="string"),
        pd.Series(TEXTS, dtype=ARROW),
        pd.Series(TEXTS, dtype="category"),
        pd.DataFrame({"text": TEXTS}),
        pd.DataFrame({"text": pd.Series(TEXTS, dtype=ARROW)}),
        pl.Series(TEXTS),
        pl.DataFrame({"text": TEXTS}),
        pa.array(TEXTS),
    ],
    ids=lambda X: type(X).__name__,
)
def test_texts_of_every_container(X: Any) -> None:
    texts = check_texts(X, "Estimator")
    assert texts == TEXTS
    assert {type(text) for text in texts} == {str}


@pytest.mark.parametrize(
    ("X", "kind", "words"),
    [
        ([], ValueError, r"0 sample\(s\)"),
        (pd.DataFrame({"text": []}), ValueError, r"0 sample\(s\)"),
        (["un", None], ValueError, r"Input X contains NaN"),
        (["un", float("nan")], ValueError, r"X\[1\] is nan"),
        (pd.Series(["un", None], dtype="string"), ValueError, "Input X contains NaN"),
        (pd.Series(["un", None], dtype=ARROW), ValueError, "Input X contains NaN"),
        (pl.Series(["un", None]), ValueError, "Input X contains NaN"),
        ([1, 2], ValueError, r"expects texts of type str, got int in X\[0\]"),
        (np.ones(3), ValueError, "got float"),
        ([b"un", b"deux"], ValueError, "got bytes"),
        (np.array([b"un"]), ValueError, "got bytes"),
        ([["un"], ["deux", "trois"]], ValueError, "got list"),
        (["un", "\ud800"], ValueError, r"X\[1\] is not valid Unicode"),
        (np.array([TEXTS, TEXTS]).T, ValueError, r"one column of texts, .* shape \(3, 2\)"),
        (pd.DataFrame({"a": TEXTS, "b": TEXTS}), ValueError, "one column of texts"),
        (np.zeros((2, 2, 2)), ValueError, "dim 3"),
        (csr_matrix(np.eye(3)), TypeError, "[Ss]parse data was passed"),
        ("un", TypeError, "at least 1 dimension|Singleton array"),
        (iter(TEXTS), TypeError, "at least 1 dimension|Singleton array"),
    ],
)
def test_what_is_not_texts_is_refused(X: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        check_texts(X, "Estimator")


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "a"], np.array(["a", "b"])),
        (np.array(["b", "a"], dtype=object), np.array(["a", "b"], dtype=object)),
        ([10, 9], np.array([9, 10])),
        (np.array([2, 1], dtype=np.int8), np.array([1, 2], dtype=np.int8)),
        ([True, False], np.array([False, True])),
        ([2.0, 1.0], np.array([1.0, 2.0])),
        (pd.Series(["b", "a"], dtype="string"), np.array(["a", "b"], dtype=object)),
        (pd.Series(["b", "a"], dtype=ARROW), np.array(["a", "b"], dtype=object)),
        (pd.Categorical(["b", "a"]), np.array(["a", "b"], dtype=object)),
        (pd.Series([2, 1], dtype="category"), np.array([1, 2])),
        (pd.Series([2, 1], dtype="Int64"), np.array([1, 2])),
        (pd.Series([True, False], dtype="boolean"), np.array([False, True])),
        (pl.Series(["b", "a"]), np.array(["a", "b"])),
        (pl.Series([2, 1]), np.array([1, 2])),
        (pl.Series([True, False]), np.array([False, True])),
        (pl.Series(["b", "a"], dtype=pl.Categorical), np.array(["a", "b"], dtype=object)),
    ],
)
def test_labels_keep_their_type(y: Any, classes: np.ndarray) -> None:
    found = np.unique(check_labels(y, "Estimator"))
    assert found.dtype == classes.dtype
    assert found.tolist() == classes.tolist()
    loaded = classes_of(label_texts(found), label_type(found))
    assert loaded.tolist() == classes.tolist()
    assert loaded.dtype.kind == ("O" if classes.dtype.kind == "U" else classes.dtype.kind)


@pytest.mark.parametrize(
    ("y", "kind", "words"),
    [
        (["a", None], ValueError, "Input y contains NaN"),
        (["a", float("nan")], ValueError, "Input y contains NaN"),
        ([1.0, float("nan")], ValueError, "Input y contains NaN"),
        ([1.0, float("inf")], ValueError, "Input y contains infinity"),
        (pd.Series(["a", None], dtype=ARROW), ValueError, "Input y contains NaN"),
        (pd.Series([1, None], dtype="Int64"), ValueError, "Input y contains NaN"),
        (pd.Series([True, None], dtype="boolean"), ValueError, "Input y contains NaN"),
        (pd.Categorical(["a", None]), ValueError, "Input y contains NaN"),
        (pl.Series([1, None]), ValueError, "Input y contains NaN"),
        ([0.1, 0.2], ValueError, "Unknown label type: continuous"),
        ([[1, 0], [0, 1]], ValueError, "y should be a 1d array"),
        ([b"a", b"b"], TypeError, "labels represented as bytes"),
        (None, ValueError, "y should be a 1d array"),
    ],
)
def test_what_is_not_labels_is_refused(y: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        check_labels(y, "Estimator")


def test_a_column_of_labels_is_taken_with_a_warning() -> None:
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        assert check_labels([["a"], ["b"]], "Estimator").tolist() == ["a", "b"]


def test_labels_of_another_type_than_recorded() -> None:
    for labels in (["a", "b"], ["1", "01"], ["1.0", "2"]):
        with pytest.raises(CorruptError, match="type that it records"):
            classes_of(labels, "integer")


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (["un", "deux", "trois"], ["a", "b"], "inconsistent numbers of samples"),
        (["un", "deux"], ["a", "a"], "at least 2 classes in the data, .* only one class: .*'a'"),
        (["un", "deux"], ["a", "b"], "holds out a part of the texts"),
        (["un", "un", "deux", "deux"], [0, 0, 1, 1], "no class with two"),
    ],
)
def test_data_that_cannot_be_fitted(X: Any, y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tiny_classifier().fit(X, y)
