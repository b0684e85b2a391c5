"""Auxiliary data in the linear fit: how much it counts, what it adds, what it cannot overrule."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.baselines.auxiliary_data import AUXILIARY_WEIGHT, AuxiliaryData
from greffe.baselines.features import BaseReader
from greffe.baselines.linear_classifier import LinearClassifier, fit_linear
from greffe.data.tables import Example
from greffe.errors import DataError
from greffe.samples.toy import toy_reviews

LABELS = ["négatif", "positif"]


def reviews_of(count: int, seed: int) -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(count, seed=seed)]


def accuracy(fitted: LinearClassifier, examples: list[Example]) -> float:
    guess = fitted.probabilities([one.text for one in examples]).argmax(axis=1)
    return float(np.mean([LABELS[g] == one.label for g, one in zip(guess, examples, strict=True)]))


def fit(examples: list[Example], *tables: list[Example]) -> LinearClassifier:
    auxiliary = AuxiliaryData.of(tables, LABELS) if tables else None
    return fit_linear(examples, LABELS, tfidf=True, base=None, auxiliary=auxiliary, seed=0)


def test_classes_of_a_table_have_equal_total_weight() -> None:
    few = [Example("a", "positif"), *[Example("b", "négatif")] * 3]
    one_class = [Example("c", "positif")] * 2
    found = AuxiliaryData.of([few, one_class], LABELS)
    assert found.texts == ["a", "b", "b", "b", "c", "c"]
    assert found.targets.tolist() == [1, 0, 0, 0, 1, 1]
    np.testing.assert_allclose(
        found.weights, AUXILIARY_WEIGHT * np.array([2, 2 / 3, 2 / 3, 2 / 3, 1, 1]), rtol=1e-6
    )


def test_auxiliary_labels_help_where_your_own_are_few() -> None:
    own, auxiliary, test = reviews_of(40, 1), reviews_of(800, 2), reviews_of(300, 3)
    alone, both = fit(own), fit(own, auxiliary)
    assert accuracy(both, test) > accuracy(alone, test) + 0.1
    assert both.settings.auxiliary == 800 and alone.settings.auxiliary == 0
    assert both.settings.texts == 40


def test_your_own_labels_overrule_auxiliary_ones() -> None:
    own = [Example(f"{'superbe' if n % 2 else 'pénible'} {n}", LABELS[n % 2]) for n in range(60)]
    wrong = [Example(f"roman {one.text}", LABELS[one.label == LABELS[0]]) for one in own]
    fitted = fit(own, wrong)
    assert fitted.probabilities(["superbe", "pénible"]).argmax(axis=1).tolist() == [1, 0]


@pytest.mark.parametrize("use_tfidf", [True, False])
def test_an_informative_base_is_used_with_auxiliary_data(
    reviews: tuple[list[str], np.ndarray], informative: BaseReader, use_tfidf: bool
) -> None:
    texts, targets = reviews
    others = AuxiliaryData(["Ce livre est correct."] * 9, np.arange(9) % 3, np.full(9, 0.3))
    fitted = fit_linear(
        [Example(text, "abc"[target]) for text, target in zip(*reviews, strict=True)],
        list("abc"),
        tfidf=use_tfidf,
        base=informative,
        auxiliary=others,
        seed=0,
    )
    assert fitted.settings.accuracy is not None and fitted.settings.accuracy > 0.97
    assert (fitted.probabilities(texts).argmax(axis=1) == targets).mean() > 0.97


def test_texts_without_a_word_in_common_are_an_error() -> None:
    with pytest.raises(DataError, match="occur in 2"):
        fit([Example("un", "négatif"), Example("deux", "positif")], [Example("trois", "positif")])
