"""Logistic regression: compact rows have the same optimum; missing classes stay possible."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from greffe.baselines.logistic_regression import Compact, FeatureRows, Regression, Solution, gram
from greffe.baselines.tfidf import Tfidf
from greffe.seeding import rng

Reviews = tuple[list[str], np.ndarray]


def features(texts: list[str], *blocks: str) -> FeatureRows:
    """TF-IDF, seven random base columns and four random scores; only the named blocks."""
    draw = rng(0, "blocks")
    base, scores = (draw.normal(size=(len(texts), n)).astype(np.float32) for n in (7, 4))
    return FeatureRows(
        Tfidf.fit(texts)[1] if "terms" in blocks else None,
        base if "base" in blocks else None,
        scores if "scores" in blocks else None,
    )


def test_gram_is_the_product_with_the_transpose(tiny_texts: list[str]) -> None:
    _, rows = Tfidf.fit(tiny_texts)
    full = rows.toarray().astype(np.float64)
    np.testing.assert_allclose(gram(rows), full @ full.T, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "blocks",
    [
        ("terms",),
        ("base",),
        ("scores",),
        ("terms", "base"),
        ("terms", "scores"),
        ("base", "scores"),
        ("terms", "base", "scores"),
    ],
    ids="+".join,
)
def test_compact_rows_have_the_same_optimum(
    reviews: Reviews, classes: int, blocks: tuple[str, ...]
) -> None:
    texts, targets = reviews[0], reviews[1] % classes
    rows = features(texts, *blocks)
    compact = Compact(rows)
    small = compact.rows(0.5)
    solution = Regression(classes, tolerance=1e-8).fit(small, targets, 5.0)
    weights = compact.expand(small, solution.weights, 0.5)

    full = rows.stacked(0.5).astype(np.float64)
    full = full.toarray() if sparse.issparse(full) else full
    expected = LogisticRegression(C=5.0, tol=1e-8, max_iter=10_000).fit(full, targets)
    found = Solution(weights, solution.bias).probabilities(full)
    np.testing.assert_allclose(found, expected.predict_proba(full), atol=1e-4)
    coef = expected.coef_.T
    coef = coef if classes > 2 else np.column_stack((0 * coef, coef))
    np.testing.assert_allclose(weights - weights[:, [0]], coef - coef[:, [0]], atol=2e-3)


def test_only_the_base_is_weighted(reviews: Reviews) -> None:
    rows = features(reviews[0], "base", "scores")
    assert rows.base is not None and rows.scores is not None
    np.testing.assert_array_equal(rows.stacked(0.5), np.hstack((rows.base / 2, rows.scores)))
    some = rows.take(np.array([3, 1]))
    np.testing.assert_array_equal(some.stacked(1.0), rows.stacked(1.0)[[3, 1]])


def test_equal_and_empty_texts_leave_a_square_root() -> None:
    _, terms = Tfidf.fit(["un livre", "un livre", "un film", "!"])
    rows = Compact(FeatureRows(terms)).rows(1.0)
    np.testing.assert_allclose(rows @ rows.T, (terms @ terms.T).toarray(), atol=1e-5)


def test_a_warm_start_reaches_the_same_optimum(reviews: Reviews) -> None:
    texts, targets = reviews
    rows = Compact(features(texts, "terms", "base")).rows(1.0)
    series = Regression(3, tolerance=1e-8)
    for c in (0.1, 2.0, 30.0):
        last = series.fit(rows, targets, c)
    fresh = Regression(3, tolerance=1e-8).fit(rows, targets, 30.0)
    np.testing.assert_allclose(last.weights, fresh.weights, atol=1e-3)


def test_a_sample_weight_of_two_counts_like_two_rows(reviews: Reviews) -> None:
    texts, targets = reviews
    rows = features(texts, "base").stacked(1.0)
    weights = 1.0 + (targets == 0)
    twice = np.repeat(np.arange(len(texts)), weights.astype(int))
    weighted = Regression(3, 1e-8).fit(rows, targets, 2.0, weights)
    repeated = Regression(3, 1e-8).fit(rows[twice], targets[twice], 2.0)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-4)


def test_a_missing_class_is_unlikely_not_impossible(reviews: Reviews) -> None:
    texts, targets = reviews
    rows = Compact(features(texts, "terms", "base")).rows(1.0)
    two = 2 * (targets % 2)  # classes 0 and 2 of four
    probabilities = Regression(4).fit(rows, two, 1.0).probabilities(rows)
    assert (probabilities[:, [1, 3]] > 0).all() and probabilities[:, [1, 3]].max() < 0.05
    assert set(probabilities.argmax(axis=1)) == {0, 2}


def test_the_only_class_is_predicted() -> None:
    probabilities = Regression(3).fit(np.eye(4), np.full(4, 1), 1.0).probabilities(np.eye(4))
    assert (probabilities.argmax(axis=1) == 1).all() and (probabilities > 0).all()
