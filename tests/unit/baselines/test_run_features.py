"""What a teacher says of a text, as features: centred, standardised, beside the rest unweighted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from greffe.baselines import features as features_module
from greffe.baselines import linear_classifier as module
from greffe.baselines.feature_blocks import Blocks, Compact
from greffe.baselines.features import BaseReader, Reader
from greffe.baselines.linear_classifier import LinearClassifier
from greffe.baselines.regression import Regression, softmax
from greffe.baselines.run_features import FeatureRun, ask, centred_logs
from greffe.baselines.selection import Choice
from greffe.baselines.tfidf import Tfidf
from greffe.errors import CorruptError
from greffe.seeding import rng

Reviews = tuple[list[str], np.ndarray]


def random_feature_run(classes: int, seed: int = 0) -> FeatureRun:
    """A teacher whose opinion of a text depends on the text alone, by chance."""

    def judge(texts: Sequence[str]) -> np.ndarray:
        drawn = [rng(seed, "teacher", text).normal(size=classes) for text in texts]
        return softmax(3 * np.array(drawn).reshape(len(texts), classes))

    return FeatureRun(classes, judge)


@pytest.fixture
def knowing(reviews: Reviews) -> FeatureRun:
    """A teacher of other labels, five of them, that tell ours apart nine times of ten."""
    draw = rng(2, "knowing")
    told = [label if draw.random() < 0.9 else draw.integers(3) for label in reviews[1]]
    probabilities = softmax(4 * np.eye(5)[told] + draw.normal(size=(len(told), 5)))
    known = dict(zip(reviews[0], probabilities, strict=True))
    return FeatureRun(5, lambda texts: np.stack([known[text] for text in texts]))


def fit(reviews: Reviews, *, tfidf: bool = True, base: Any = None, feature_runs: Any = ()) -> Any:
    texts, targets = reviews
    return LinearClassifier.fit(
        texts, targets, 3, use_tfidf=tfidf, base=base, feature_runs=feature_runs, seed=0
    )


# --- what it says -----------------------------------------------------------------------------


def test_features_are_centred_log_probabilities() -> None:
    found = centred_logs(np.array([[0.5, 0.5], [0.8, 0.2], [1.0, 0.0]]))
    half = np.log(4) / 2, np.log(1e6) / 2
    expected = [[0, 0], [half[0], -half[0]], [half[1], -half[1]]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32
    three = centred_logs(np.array([[0.2, 0.3, 0.5]]))
    np.testing.assert_allclose(three.sum(), 0, atol=1e-6)
    np.testing.assert_allclose(three[0, 2] - three[0, 0], np.log(2.5), rtol=1e-6)


def test_no_texts_have_no_features() -> None:
    assert random_feature_run(3).features([]).shape == (0, 3)


def test_a_teacher_is_asked_block_by_block(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(features_module, "BLOCK_TEXTS", 4)
    sizes: list[int] = []
    quiet = random_feature_run(2)

    def judge(texts: Sequence[str]) -> np.ndarray:
        sizes.append(len(texts))
        return quiet.judge(texts)

    texts = [f"texte {number}" for number in range(10)]
    (found,) = ask([FeatureRun(2, judge)], texts)
    assert sizes == [4, 4, 2]
    np.testing.assert_array_equal(found, quiet.features(texts))
    assert "ask the teacher: 100%" in capsys.readouterr().err
    two, three = ask([random_feature_run(2), random_feature_run(3)], texts)
    assert (two.shape, three.shape) == ((10, 2), (10, 3))
    assert ask([], texts) == []


# --- beside the rest ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tfidf", "base", "all", "alone"])
def test_scores_are_standardised_and_unweighted(
    kind: str, reviews: Reviews, telling: BaseReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is scikit-learn's model of all columns, only the base's multiplied by its weight."""
    texts, targets = reviews
    base = telling if kind in ("base", "all") else None
    has_tfidf = kind in ("tfidf", "all")
    weight = 0.4 if base else 1.0
    monkeypatch.setattr(module, "choose", lambda *_: Choice(2.0, weight, 0.5, 0.5))
    feature_runs = [random_feature_run(2), random_feature_run(5, seed=1)]
    fitted = fit(reviews, tfidf=has_tfidf, base=base, feature_runs=feature_runs)

    def standard(reader: Reader) -> np.ndarray:
        rows: np.ndarray = StandardScaler().fit_transform(reader.features(texts))
        return rows / np.sqrt(reader.columns)

    said = [standard(feature_run) for feature_run in feature_runs]
    for rows in said:  # all columns of one teacher together
        assert np.mean((rows**2).sum(axis=1)) == pytest.approx(1)
    parts = [Tfidf.fit(texts)[1].toarray()] if has_tfidf else []
    parts += [weight * standard(base)] if base else []
    rows = np.hstack([*parts, *said])
    usual = LogisticRegression(C=2.0, tol=1e-7, max_iter=10_000).fit(rows, targets)
    np.testing.assert_allclose(fitted.probabilities(texts), usual.predict_proba(rows), atol=2e-3)
    assert fitted.weights.shape == (rows.shape[1], 3)
    assert fitted.settings.base_weight == (weight if base else None)
    assert fitted.settings.base_columns == (telling.columns if base else 0)
    assert fitted.settings.run_columns == [2, 5]


def test_the_weight_of_a_base_is_tried_wherever_it_is_not_alone(
    reviews: Reviews, telling: BaseReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Sequence[float]] = []

    def note(_: Any, weights: Sequence[float], *__: Any) -> Choice:
        tried.append(weights)
        return Choice(2.0, 1.0, 0.5, 0.5)

    monkeypatch.setattr(module, "choose", note)
    feature_runs = [random_feature_run(2)]
    fit(reviews, feature_runs=feature_runs)
    fit(reviews, tfidf=False, base=telling, feature_runs=feature_runs)
    fit(reviews, tfidf=False, base=telling)
    assert tried == [(1.0,), module.BASE_WEIGHTS, (1.0,)]


@pytest.mark.parametrize("kind", ["terms", "vectors", "both", "neither"])
def test_compact_rows_with_scores_have_the_same_optimum(reviews: Reviews, kind: str) -> None:
    texts, targets = reviews
    draw = rng(0, "blocks")
    blocks = Blocks(
        Tfidf.fit(texts)[1] if kind in ("terms", "both") else None,
        draw.normal(size=(90, 7)).astype(np.float32) if kind in ("vectors", "both") else None,
        draw.normal(size=(90, 4)).astype(np.float32),
    )
    compact = Compact(blocks)
    rows = compact.rows(0.5)
    solution = Regression(rows, targets, 3, tolerance=1e-8).solve(2.0)
    weights = compact.unfolded(rows, solution.weights, 0.5)
    full = blocks.rows(0.5).astype(np.float64)
    full = full.toarray() if sparse.issparse(full) else full
    np.testing.assert_array_equal(full[:, -4:], blocks.scores)
    usual = LogisticRegression(C=2.0, tol=1e-8, max_iter=10_000).fit(full, targets)
    mine = softmax(full @ weights + solution.bias)
    np.testing.assert_allclose(mine, usual.predict_proba(full), atol=1e-4)
    some = np.array([3, 1])
    np.testing.assert_array_equal(blocks.of(some).scores, blocks.scores[some])  # type: ignore[index]


def test_a_sample_of_the_texts_chooses_with_scores_too(
    reviews: Reviews, knowing: FeatureRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRAM_TEXTS", 80)
    fitted = fit(reviews, feature_runs=[knowing])
    assert fitted.settings.texts == 90 and fitted.settings.accuracy > 0.8


def test_a_teacher_of_other_labels_is_listened_to(reviews: Reviews, knowing: FeatureRun) -> None:
    without, intermediate = fit(reviews), fit(reviews, feature_runs=[knowing])
    alone = fit(reviews, tfidf=False, feature_runs=[knowing])
    assert intermediate.settings.log_loss < 0.8 * without.settings.log_loss
    assert intermediate.settings.accuracy > without.settings.accuracy
    assert alone.settings.accuracy > 0.8 and alone.tfidf is None


# --- on disk ------------------------------------------------------------------------------------


def test_it_predicts_the_same_bits_after_a_save(
    reviews: Reviews, reader: BaseReader, tmp_path: Path
) -> None:
    feature_runs = [random_feature_run(2), random_feature_run(4, seed=1)]
    fitted = fit(reviews, base=reader, feature_runs=feature_runs)
    fitted.save(tmp_path)
    loaded = LinearClassifier.load(tmp_path, reader, feature_runs)
    texts = [*reviews[0], "", "Tout autre chose 日本"]
    np.testing.assert_array_equal(loaded.probabilities(texts), fitted.probabilities(texts))
    assert loaded.settings == fitted.settings
    assert loaded.probabilities([]).shape == (0, 3)


def test_teachers_that_are_not_its_own_are_noticed(reviews: Reviews, tmp_path: Path) -> None:
    two, four = random_feature_run(2), random_feature_run(4)
    fit(reviews, feature_runs=[two, four]).save(tmp_path)
    strangers: list[list[Reader]] = [[], [two], [four, two], [two, four, two]]
    for others in strangers:
        with pytest.raises(CorruptError, match="does not belong to the teachers"):
            LinearClassifier.load(tmp_path, None, others)
    path = tmp_path / "linear.json"
    written = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(written | {"run_columns": [2, 5]}), "utf-8")
    with pytest.raises(CorruptError, match="does not belong to linear"):
        LinearClassifier.load(tmp_path, None, [two, random_feature_run(5)])


def test_a_file_from_before_there_were_teachers_still_loads(
    reviews: Reviews, tmp_path: Path
) -> None:
    fitted = fit(reviews)
    fitted.save(tmp_path)
    path = tmp_path / "linear.json"
    written = json.loads(path.read_text("utf-8"))
    assert written.pop("run_columns") == []
    path.write_text(json.dumps(written), "utf-8")
    loaded = LinearClassifier.load(tmp_path)
    np.testing.assert_array_equal(
        loaded.probabilities(reviews[0]), fitted.probabilities(reviews[0])
    )
