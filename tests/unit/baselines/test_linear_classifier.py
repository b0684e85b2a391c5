"""The linear classifier: it learns, chooses its settings and weights its blocks of features."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from greffe.baselines import linear_classifier as module
from greffe.baselines.cross_validation import Choice
from greffe.baselines.features import BaseReader, FeatureRun, Reader
from greffe.baselines.linear_classifier import fit_linear
from greffe.baselines.tfidf import Tfidf
from greffe.data.tables import Example
from greffe.errors import DataError, RecipeError, TrainingError
from greffe.samples.toy import toy_reviews
from greffe.seeding import rng

Reviews = tuple[list[str], np.ndarray]
LABELS = list("abc")


def labelled(reviews: Reviews) -> list[Example]:
    return [Example(text, "abc"[target]) for text, target in zip(*reviews, strict=True)]


def fit(reviews: Reviews, *, tfidf: bool = True, base: Any = None, feature_runs: Any = ()) -> Any:
    return fit_linear(
        labelled(reviews), LABELS, tfidf=tfidf, base=base, feature_runs=feature_runs, seed=0
    )


def test_it_learns_three_classes_and_cross_validates(reviews: Reviews) -> None:
    texts, targets = reviews
    fitted = fit(reviews)
    probabilities = fitted.probabilities(texts)
    assert probabilities.shape == (90, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    assert (probabilities.argmax(axis=1) == targets).mean() > 0.85
    assert 0.6 < fitted.settings.accuracy < 0.95
    assert fitted.probabilities(["Un film magnifique"])[0].argmax() == 0
    assert fitted.settings.base_weight is None and fitted.settings.base_columns == 0


def test_an_informative_base_is_used(reviews: Reviews, informative: BaseReader) -> None:
    alone, stacked = fit(reviews), fit(reviews, base=informative)
    base_only = fit(reviews, tfidf=False, base=informative)
    assert stacked.settings.log_loss < 0.5 * alone.settings.log_loss
    assert stacked.settings.accuracy > 0.97 and base_only.settings.accuracy > 0.97
    assert stacked.settings.base_weight > 1 and base_only.settings.base_weight is None
    assert (stacked.probabilities(reviews[0]).argmax(axis=1) == reviews[1]).mean() > 0.97


@pytest.mark.parametrize("kind", ["tfidf", "base", "all", "alone"])
def test_it_equals_scikit_learn_on_all_columns(
    kind: str,
    reviews: Reviews,
    informative: BaseReader,
    random_run: Callable[..., FeatureRun],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Scores and the base's vectors are standardized; only the base has a weight."""
    texts, targets = reviews
    base = informative if kind in ("base", "all") else None
    has_tfidf = kind in ("tfidf", "all")
    weight = 0.4 if base else 1.0
    monkeypatch.setattr(module, "choose", lambda *_: Choice(2.0, weight, 0.5, 0.5))
    feature_runs = [random_run(2), random_run(5, seed=1)]
    fitted = fit(reviews, tfidf=has_tfidf, base=base, feature_runs=feature_runs)

    def standard(reader: Reader) -> np.ndarray:
        rows: np.ndarray = StandardScaler().fit_transform(reader.features(texts))
        return rows / np.sqrt(reader.columns)

    scores = [standard(feature_run) for feature_run in feature_runs]
    for rows in scores:
        assert np.mean((rows**2).sum(axis=1)) == pytest.approx(1)
    parts = [Tfidf.fit(texts)[1].toarray()] if has_tfidf else []
    parts += [weight * standard(base)] if base else []
    rows = np.hstack([*parts, *scores])
    expected = LogisticRegression(C=2.0, tol=1e-7, max_iter=10_000).fit(rows, targets)
    np.testing.assert_allclose(fitted.probabilities(texts), expected.predict_proba(rows), atol=2e-3)
    assert fitted.weights.shape == (rows.shape[1], 3)
    assert fitted.settings.base_weight == (weight if base else None)
    assert fitted.settings.base_columns == (informative.columns if base else 0)
    assert fitted.settings.run_columns == [2, 5]


def test_the_base_weight_is_chosen_unless_the_base_is_alone(
    reviews: Reviews,
    informative: BaseReader,
    random_run: Callable[..., FeatureRun],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[Sequence[float]] = []

    def note(_: Any, weights: Sequence[float], *__: Any) -> Choice:
        tried.append(weights)
        return Choice(2.0, 1.0, 0.5, 0.5)

    monkeypatch.setattr(module, "choose", note)
    feature_runs = [random_run(2)]
    fit(reviews, feature_runs=feature_runs)
    fit(reviews, tfidf=False, base=informative, feature_runs=feature_runs)
    fit(reviews, tfidf=False, base=informative)
    assert tried == [(1.0,), module.BASE_WEIGHTS, (1.0,)]


def test_a_feature_run_with_other_labels_is_used(
    reviews: Reviews, informative_run: FeatureRun
) -> None:
    without, both = fit(reviews), fit(reviews, feature_runs=[informative_run])
    alone = fit(reviews, tfidf=False, feature_runs=[informative_run])
    assert both.settings.log_loss < 0.8 * without.settings.log_loss
    assert both.settings.accuracy > without.settings.accuracy
    assert alone.settings.accuracy > 0.8 and alone.tfidf is None


def test_an_uninformative_base_gets_the_smallest_weight(reviews: Reviews, informative: Any) -> None:
    noise = rng(5, "noise").normal(size=(90, 200)).astype(np.float32)
    informative.vectors = dict(zip(reviews[0], noise, strict=True))
    stacked = fit(reviews, base=informative)
    assert stacked.settings.base_weight == 0.1
    assert stacked.settings.accuracy >= fit(reviews).settings.accuracy - 0.05


def test_features_are_standardized(reviews: Reviews, informative: Any) -> None:
    before = fit(reviews, tfidf=False, base=informative).probabilities(reviews[0])
    informative.vectors = {
        text: np.append(1000 + 50 * vector, np.float32(7.0)).astype(np.float32)
        for text, vector in informative.vectors.items()
    }
    fitted = fit(reviews, tfidf=False, base=informative)
    assert not fitted.weights[-1].any()  # a constant feature
    np.testing.assert_allclose(fitted.probabilities(reviews[0]), before, atol=0.01)


def test_features_that_overflow_are_an_error(reviews: Reviews) -> None:
    class Huge:
        columns = 2

        def features(self, texts: Sequence[str]) -> np.ndarray:
            signs = np.where(np.arange(len(texts)) % 2, 1.0, -1.0)
            return np.outer(signs, [3e38, 3e38]).astype(np.float32)

    with pytest.raises(TrainingError, match="too large"):
        fit(reviews, tfidf=False, feature_runs=[Huge()])


def test_many_texts_are_fitted_without_a_gram_matrix(
    reviews: Reviews, informative: BaseReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fit(reviews, base=informative)
    monkeypatch.setattr(module, "COMPACT_TEXTS", 89)
    found = fit(reviews, base=informative)
    assert found.settings.texts == 90
    monkeypatch.setattr(
        module,
        "choose",
        lambda *_: Choice(found.settings.c, found.settings.base_weight, 0, 0),
    )
    monkeypatch.setattr(module, "COMPACT_TEXTS", 90)
    same = fit(reviews, base=informative)
    np.testing.assert_allclose(
        found.probabilities(reviews[0]), same.probabilities(reviews[0]), atol=2e-3
    )
    assert expected.weights.shape == found.weights.shape


def test_a_sample_of_many_texts_chooses(
    reviews: Reviews, informative_run: FeatureRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPACT_TEXTS", 80)
    fitted = fit(reviews, feature_runs=[informative_run])
    assert fitted.settings.texts == 90 and fitted.settings.accuracy > 0.8


def test_a_label_without_texts_keeps_its_column(reviews: Reviews) -> None:
    texts, targets = reviews
    few = [
        Example(text, "ab"[label]) for text, label in zip(texts, targets, strict=True) if label < 2
    ]
    fitted = fit_linear(few, ["a", "b", "z"], tfidf=True, base=None, seed=0)
    probabilities = fitted.probabilities(texts)
    assert (
        probabilities.shape == (90, 3)
        and (probabilities[:, 2] > 0).all()
        and probabilities[:, 2].max() < 0.1
    )


def test_one_text_per_class_is_enough() -> None:
    examples = [Example("Un livre magnifique.", "pos"), Example("Un film nul.", "neg")]
    fitted = fit_linear(examples, ["neg", "pos"], tfidf=True, base=None, seed=0)
    assert fitted.settings.accuracy is None
    assert fitted.probabilities(["magnifique", "nul"]).argmax(axis=1).tolist() == [1, 0]
    assert fitted.probabilities([]).shape == (0, 2)


def test_unknown_labels_and_no_features_are_errors() -> None:
    examples = [Example("Un livre", "x"), Example("Un film", "y")]
    with pytest.raises(DataError, match="did not occur"):
        fit_linear(examples, ["x", "z"], tfidf=True, base=None, seed=0)
    with pytest.raises(RecipeError, match="no features"):
        fit_linear(examples, ["x", "y"], tfidf=False, base=None, seed=0)


@pytest.mark.alone
def test_1600_reviews_of_100_words_take_seconds() -> None:
    """Processor time, since the clock also counts what else the machine does."""
    short = toy_reviews(16_000, seed=0)
    joined: dict[str, list[str]] = {}
    for label, text in short:
        joined.setdefault(label, []).append(text)
    examples = []
    for label, texts in joined.items():
        words = " ".join(texts).split()
        examples += [
            Example(" ".join(words[start : start + 100]), label)
            for start in range(0, 100 * (len(words) // 100), 100)
        ]
    examples = examples[:800] + examples[-800:]
    assert len(examples) == 1600
    began = time.process_time()
    fit_linear(examples, sorted(joined), tfidf=True, base=None, seed=0)
    assert time.process_time() - began < 20
