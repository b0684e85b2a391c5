"""Latent semantic analysis: what texts without labels add to a linear model."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD

from greffe.baselines import linear_classifier as module
from greffe.baselines.cross_validation import Choice
from greffe.baselines.latent import LatentSemantics, require_enough, sample_texts
from greffe.baselines.linear_classifier import fit_linear
from greffe.baselines.logistic_regression import Solution, softmax
from greffe.data.tables import Example
from greffe.errors import DataError
from greffe.seeding import rng

GOOD = ["lumineux", "émouvant", "captivant", "délicat", "superbe", "juste"]
BAD = ["creux", "poussif", "bavard", "confus", "plat", "terne"]
LABELS = ["0", "1"]


def texts_of(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Return texts with three words of one kind among words of both, and their classes."""
    draw, texts, labels = rng(seed, "latent"), [], []
    for number in range(count):
        words = draw.choice(GOOD if number % 2 else BAD, 3, replace=False)
        others = draw.choice(["livre", "page", "auteur", "chapitre", "récit", "histoire"], 4)
        texts.append(" ".join(draw.permutation([*words, *others])))
        labels.append(LABELS[number % 2])
    return texts, labels


@pytest.fixture(scope="module")
def latent() -> LatentSemantics:
    return LatentSemantics.fit(texts_of(1200, seed=1)[0])


def few() -> list[Example]:
    """Four labelled texts, with one word of each class."""
    return [
        Example(text, label)
        for text, label in (
            ("un livre superbe", "1"),
            ("un récit superbe", "1"),
            ("un livre plat", "0"),
            ("un récit plat", "0"),
        )
    ]


def test_directions_are_scikit_learns_times_their_singular_values(latent: LatentSemantics) -> None:
    texts = texts_of(1200, seed=1)[0]
    _, rows = type(latent.tfidf).fit(texts, ("latent",))
    expected = TruncatedSVD(10, algorithm="arpack", random_state=0).fit(rows)
    ours = latent.directions[:, :3] / np.linalg.norm(latent.directions[:, :3], axis=0)
    products = np.abs((ours * expected.components_[:3].T).sum(axis=0))
    np.testing.assert_allclose(products, 1, atol=1e-3)
    lengths = np.linalg.norm(latent.directions, axis=0)
    values = expected.singular_values_
    np.testing.assert_allclose(lengths[:3], values[:3] / values[0], rtol=1e-2)


def test_words_without_a_label_are_understood_from_texts_without_labels(
    latent: LatentSemantics,
) -> None:
    texts, labels = texts_of(200, seed=2)
    found = {}
    for name, known in (("alone", None), ("with text", latent)):
        fitted = fit_linear(few(), LABELS, tfidf=True, base=None, latent=known, seed=0)
        right = fitted.probabilities(texts).argmax(axis=1) == np.array(labels).astype(int)
        found[name] = right.mean()
    assert found["with text"] > 0.9 > 0.8 > found["alone"]


def test_the_folded_model_is_the_model_on_the_directions(
    latent: LatentSemantics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores of terms equal those of the centered, scaled directions beside them."""
    monkeypatch.setattr(module, "choose", lambda *_: Choice(2.0, 0.4, 0.5, 0.5))
    solved = []
    real = module._Latent.fold

    def fold(self: module._Latent, solution: Solution, *rest: object) -> Solution:
        solved.append(solution)
        return real(self, solution, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module._Latent, "fold", fold)
    fitted = fit_linear(few(), LABELS, tfidf=False, base=None, latent=latent, seed=0)
    alone = latent.features([example.text for example in few()])
    center = alone.mean(axis=0)
    size = np.sqrt(((alone - center) ** 2).sum(axis=1).mean())
    texts = texts_of(20, seed=3)[0]
    rows = (latent.features(texts) - center) / size
    scores = 0.4 * rows @ solved[0].weights + solved[0].bias
    np.testing.assert_allclose(fitted.probabilities(texts), softmax(scores), atol=1e-5)


def test_a_sample_of_texts_is_uniform_and_repeatable() -> None:
    texts = [str(number) for number in range(50)]
    assert sample_texts(texts, most=100) == texts
    assert sample_texts(texts, seed=1, most=10) == sample_texts(texts, seed=1, most=10)
    counts = Counter(text for seed in range(400) for text in sample_texts(texts, seed, most=10))
    assert len(counts) == 50 and 45 < min(counts.values()) <= max(counts.values()) < 120


def test_too_few_texts_are_refused() -> None:
    with pytest.raises(DataError, match="too few texts without labels") as caught:
        require_enough(["un livre"] * 999)
    assert caught.value.found == "999"
