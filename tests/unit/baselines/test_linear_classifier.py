"""The linear classifier: learns, chooses, weighs its blocks, and is the same after a save."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from greffe.baselines import linear_classifier as module
from greffe.baselines.features import BaseReader
from greffe.baselines.linear_classifier import LinearClassifier, fit_linear, majority
from greffe.baselines.selection import Choice
from greffe.baselines.tfidf import Tfidf
from greffe.data.tables import Example
from greffe.errors import CorruptError, DataError, RecipeError
from greffe.samples.toy import toy_reviews
from greffe.seeding import rng

Reviews = tuple[list[str], np.ndarray]


def fit(reviews: Reviews, *, tfidf: bool = True, base: BaseReader | None = None) -> Any:
    texts, targets = reviews
    return LinearClassifier.fit(texts, targets, 3, use_tfidf=tfidf, base=base, seed=0)


def test_it_learns_three_classes_and_says_how_well(reviews: Reviews) -> None:
    texts, targets = reviews
    fitted = fit(reviews)
    probabilities = fitted.probabilities(texts)
    assert probabilities.shape == (90, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    assert (probabilities.argmax(axis=1) == targets).mean() > 0.85
    assert 0.6 < fitted.settings.accuracy < 0.95
    assert fitted.probabilities(["Un film magnifique"])[0].argmax() == 0
    assert fitted.settings.base_weight is None and fitted.settings.base_columns == 0


def test_a_base_that_knows_more_is_listened_to(reviews: Reviews, telling: BaseReader) -> None:
    alone, stacked = fit(reviews), fit(reviews, base=telling)
    base_only = fit(reviews, tfidf=False, base=telling)
    assert stacked.settings.log_loss < 0.5 * alone.settings.log_loss
    assert stacked.settings.accuracy > 0.97 and base_only.settings.accuracy > 0.97
    assert stacked.settings.base_weight > 1 and base_only.settings.base_weight is None
    assert (stacked.probabilities(reviews[0]).argmax(axis=1) == reviews[1]).mean() > 0.97


def test_stacked_it_is_scikit_learns_model_of_all_columns(
    reviews: Reviews, telling: BaseReader
) -> None:
    texts, targets = reviews
    stacked = fit(reviews, base=telling)
    chosen = stacked.settings
    standard = StandardScaler().fit_transform(telling.features(texts))
    terms, _ = Tfidf.fit(texts)
    rows = np.hstack(
        (terms.transform(texts).toarray(), chosen.base_weight * standard / np.sqrt(telling.columns))
    )
    usual = LogisticRegression(C=chosen.c, tol=1e-7, max_iter=10_000).fit(rows, targets)
    np.testing.assert_allclose(stacked.probabilities(texts), usual.predict_proba(rows), atol=5e-3)


def test_a_base_that_knows_nothing_is_hardly_listened_to(reviews: Reviews, telling: Any) -> None:
    noise = rng(5, "noise").normal(size=(90, 200)).astype(np.float32)
    telling.vectors = dict(zip(reviews[0], noise, strict=True))
    stacked = fit(reviews, base=telling)
    assert stacked.settings.base_weight == 0.1
    assert stacked.settings.accuracy >= fit(reviews).settings.accuracy - 0.05


def test_features_count_alike_whatever_their_size(reviews: Reviews, telling: Any) -> None:
    before = fit(reviews, tfidf=False, base=telling).probabilities(reviews[0])
    telling.vectors = {
        text: np.append(1000 + 50 * vector, np.float32(7.0)).astype(np.float32)
        for text, vector in telling.vectors.items()
    }
    fitted = fit(reviews, tfidf=False, base=telling)
    assert fitted.scale[-1] == 0  # a feature that never changes says nothing
    np.testing.assert_allclose(fitted.probabilities(reviews[0]), before, atol=0.01)


def test_many_texts_are_fitted_without_inner_products(
    reviews: Reviews, telling: BaseReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fit(reviews, base=telling)
    monkeypatch.setattr(module, "GRAM_TEXTS", 89)
    found = fit(reviews, base=telling)
    assert found.settings.texts == 90
    monkeypatch.setattr(
        module,
        "choose",
        lambda *_: Choice(found.settings.c, found.settings.base_weight, 0, 0),
    )
    monkeypatch.setattr(module, "GRAM_TEXTS", 90)
    same = fit(reviews, base=telling)
    np.testing.assert_allclose(
        found.probabilities(reviews[0]), same.probabilities(reviews[0]), atol=2e-3
    )
    assert expected.weights.shape == found.weights.shape


def test_a_label_that_the_texts_lack_keeps_its_place(reviews: Reviews) -> None:
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


def test_one_text_a_class_is_enough() -> None:
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


def test_the_majority_is_the_shares_of_the_classes() -> None:
    assert majority(np.array([0, 0, 2, 0]), 3).tolist() == [0.75, 0.0, 0.25]


# --- on disk ----------------------------------------------------------------------------------


@pytest.fixture
def saved(reviews: Reviews, tmp_path: Path) -> Path:
    fit(reviews).save(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", ["tfidf", "base", "both"])
def test_it_predicts_the_same_bits_after_a_save(
    kind: str, reviews: Reviews, reader: BaseReader, tmp_path: Path
) -> None:
    base = reader if kind != "tfidf" else None
    fitted = fit(reviews, tfidf=kind != "base", base=base)
    fitted.save(tmp_path)
    loaded = LinearClassifier.load(tmp_path, base)
    texts = [*reviews[0], "", "Tout autre chose 日本"]
    np.testing.assert_array_equal(loaded.probabilities(texts), fitted.probabilities(texts))
    assert loaded.settings == fitted.settings
    assert sorted(path.name for path in tmp_path.iterdir()) == ["linear.json", "linear.safetensors"]


def test_a_changed_term_is_noticed(saved: Path) -> None:
    path = saved / "linear.json"
    written = json.loads(path.read_text("utf-8"))
    written["vocabularies"]["words"][3] = "autre"
    path.write_text(json.dumps(written), "utf-8")
    with pytest.raises(CorruptError, match="vocabularies"):
        LinearClassifier.load(saved)


def test_a_changed_weight_is_noticed(saved: Path) -> None:
    tensors = load_file(saved / "linear.safetensors")
    tensors["bias"][0] += 1
    save_file(tensors, saved / "linear.safetensors")
    with pytest.raises(CorruptError, match="damaged or was replaced"):
        LinearClassifier.load(saved)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda written: written.pop("classes"), "damaged or from another version"),
        (lambda written: written.update(format=2), "damaged or from another version"),
        (lambda written: written.update(classes=4), "does not belong"),
        (lambda written: written.update(base_columns=8), "does not belong"),
    ],
)
def test_settings_of_another_model_are_noticed(saved: Path, change: Any, said: str) -> None:
    path = saved / "linear.json"
    written = json.loads(path.read_text("utf-8"))
    change(written)
    path.write_text(json.dumps(written), "utf-8")
    with pytest.raises(CorruptError, match=said):
        LinearClassifier.load(saved)


@pytest.mark.parametrize("name", ["linear.json", "linear.safetensors"])
def test_a_truncated_or_missing_file_is_noticed(saved: Path, name: str) -> None:
    path = saved / name
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CorruptError, match="damaged"):
        LinearClassifier.load(saved)
    path.unlink()
    with pytest.raises(CorruptError, match="missing"):
        LinearClassifier.load(saved)


def test_a_base_that_is_not_its_own_is_noticed(saved: Path, reader: BaseReader) -> None:
    with pytest.raises(CorruptError, match="does not belong to the base"):
        LinearClassifier.load(saved, reader)


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
