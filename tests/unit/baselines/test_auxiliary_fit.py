"""Texts of others beside one's own: what they teach, how much they count, what one's own keep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from greffe.baselines.auxiliary_fit import WEIGHT, AuxiliaryData
from greffe.baselines.features import BaseReader
from greffe.baselines.linear_classifier import LinearClassifier, fit_linear
from greffe.data.tables import Example
from greffe.errors import DataError
from greffe.samples.toy import toy_reviews

LABELS = ["négatif", "positif"]


def drawn(count: int, seed: int) -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(count, seed=seed)]


def accuracy(fitted: LinearClassifier, examples: list[Example]) -> float:
    guess = fitted.probabilities([one.text for one in examples]).argmax(axis=1)
    return float(np.mean([LABELS[g] == one.label for g, one in zip(guess, examples, strict=True)]))


def fit(
    examples: list[Example],
    *others: list[Example],
    tfidf: bool = True,
    base: BaseReader | None = None,
) -> LinearClassifier:
    auxiliary = AuxiliaryData.of(others, LABELS) if others else None
    return fit_linear(examples, LABELS, tfidf=tfidf, base=base, auxiliary=auxiliary, seed=0)


def test_every_class_of_every_table_counts_the_same() -> None:
    few = [Example("a", "positif"), *[Example("b", "négatif")] * 3]
    one_class = [Example("c", "positif")] * 2
    found = AuxiliaryData.of([few, one_class], LABELS)
    assert found.texts == ["a", "b", "b", "b", "c", "c"]
    assert found.targets.tolist() == [1, 0, 0, 0, 1, 1]
    np.testing.assert_allclose(
        found.weights, WEIGHT * np.array([2, 2 / 3, 2 / 3, 2 / 3, 1, 1]), rtol=1e-6
    )


def test_labels_of_others_help_where_ones_own_are_few() -> None:
    own, others, tested = drawn(40, 1), drawn(800, 2), drawn(300, 3)
    alone, auxiliary_tables = fit(own), fit(own, others)
    assert accuracy(auxiliary_tables, tested) > accuracy(alone, tested) + 0.1
    assert auxiliary_tables.settings.auxiliary == 800 and alone.settings.auxiliary == 0
    assert auxiliary_tables.settings.texts == 40


def test_ones_own_labels_overrule_those_of_others() -> None:
    own = [Example(f"{'superbe' if n % 2 else 'pénible'} {n}", LABELS[n % 2]) for n in range(60)]
    wrong = [Example(f"roman {one.text}", LABELS[one.label == LABELS[0]]) for one in own]
    fitted = fit(own, wrong)
    assert fitted.probabilities(["superbe", "pénible"]).argmax(axis=1).tolist() == [1, 0]


def test_it_is_the_same_after_a_save(tmp_path: Path) -> None:
    own, others = drawn(40, 1), drawn(100, 2)
    fitted = fit(own, others)
    fitted.save(tmp_path)
    texts = [one.text for one in drawn(20, 3)]
    again = LinearClassifier.load(tmp_path)
    np.testing.assert_array_equal(again.probabilities(texts), fitted.probabilities(texts))
    assert again.settings.auxiliary == 100


@pytest.mark.parametrize("use_tfidf", [True, False])
def test_a_base_that_knows_more_is_listened_to_beside_others(
    reviews: tuple[list[str], np.ndarray], telling: BaseReader, use_tfidf: bool
) -> None:
    texts, targets = reviews
    others = AuxiliaryData(["Ce livre est correct."] * 9, np.arange(9) % 3, np.full(9, 0.3))
    fitted = LinearClassifier.fit(
        texts, targets, 3, use_tfidf=use_tfidf, base=telling, auxiliary=others, seed=0
    )
    assert fitted.settings.accuracy is not None and fitted.settings.accuracy > 0.97
    assert (fitted.probabilities(texts).argmax(axis=1) == targets).mean() > 0.97


def test_without_a_word_in_common_there_is_nothing_to_share() -> None:
    with pytest.raises(DataError, match="stand in two"):
        fit([Example("un", "négatif"), Example("deux", "positif")], [Example("trois", "positif")])
