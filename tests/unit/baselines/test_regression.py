"""Compact rows give the same optimum as all columns; classes that are missing stay possible."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from greffe.baselines.feature_blocks import Blocks, Compact, gram
from greffe.baselines.regression import Regression, softmax
from greffe.baselines.tfidf import Tfidf
from greffe.seeding import rng

Reviews = tuple[list[str], np.ndarray]


def both_blocks(texts: list[str]) -> Blocks:
    _, terms = Tfidf.fit(texts)
    return Blocks(terms, rng(0, "vectors").normal(size=(len(texts), 7)).astype(np.float32))


def test_gram_is_the_product_with_the_transpose(tiny_texts: list[str]) -> None:
    _, rows = Tfidf.fit(tiny_texts)
    full = rows.toarray().astype(np.float64)
    np.testing.assert_allclose(gram(rows), full @ full.T, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["terms", "vectors", "both"])
def test_compact_rows_have_the_same_optimum(reviews: Reviews, classes: int, kind: str) -> None:
    texts, targets = reviews[0], reviews[1] % classes
    both = both_blocks(texts)
    blocks = Blocks(
        both.sparse if kind != "vectors" else None, both.dense if kind != "terms" else None
    )
    weight = 0.5 if kind == "both" else 1.0
    compact = Compact(blocks)
    rows = compact.rows(weight)
    solution = Regression(rows, targets, classes, tolerance=1e-8).solve(5.0)
    weights = compact.unfolded(rows, solution.weights, weight)

    full = blocks.rows(weight).astype(np.float64)
    full = full.toarray() if sparse.issparse(full) else full
    usual = LogisticRegression(C=5.0, tol=1e-8, max_iter=10_000).fit(full, targets)
    mine = softmax(full @ weights + solution.bias)
    np.testing.assert_allclose(mine, usual.predict_proba(full), atol=1e-4)
    margin = weights - weights[:, [0]]
    expected = usual.coef_.T if classes > 2 else np.column_stack((0 * usual.coef_.T, usual.coef_.T))
    np.testing.assert_allclose(margin, expected - expected[:, [0]], atol=2e-3)


def test_equal_and_empty_texts_leave_a_square_root() -> None:
    _, terms = Tfidf.fit(["un livre", "un livre", "un film", "!"])
    rows = Compact(Blocks(terms, None)).rows(1.0)
    np.testing.assert_allclose(rows @ rows.T, (terms @ terms.T).toarray(), atol=1e-5)


def test_each_c_ends_where_a_fresh_start_ends(reviews: Reviews) -> None:
    texts, targets = reviews
    rows = Compact(both_blocks(texts)).rows(1.0)
    series = Regression(rows, targets, 3, tolerance=1e-8)
    for c in (0.1, 2.0, 30.0):
        last = series.solve(c)
    fresh = Regression(rows, targets, 3, tolerance=1e-8).solve(30.0)
    np.testing.assert_allclose(last.weights, fresh.weights, atol=1e-3)


def test_a_class_that_was_not_seen_is_unlikely_not_impossible(reviews: Reviews) -> None:
    texts, targets = reviews
    rows = Compact(both_blocks(texts)).rows(1.0)
    two = 2 * (targets % 2)  # classes 0 and 2 of four
    solution = Regression(rows, two, 4).solve(1.0)
    probabilities = softmax(rows @ solution.weights + solution.bias)
    assert (probabilities[:, [1, 3]] > 0).all() and probabilities[:, [1, 3]].max() < 0.05
    assert set(probabilities.argmax(axis=1)) == {0, 2}


def test_one_class_alone_is_what_is_guessed() -> None:
    solution = Regression(np.eye(4), np.full(4, 1), 3).solve(1.0)
    probabilities = softmax(np.eye(4) @ solution.weights + solution.bias)
    assert (probabilities.argmax(axis=1) == 1).all() and (probabilities > 0).all()
