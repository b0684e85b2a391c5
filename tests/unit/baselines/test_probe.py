"""The probe: informative bases score higher than uninformative ones; folds are paired."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from greffe.baselines import probe
from greffe.baselines.features import BaseReader
from greffe.baselines.linear_classifier import LinearClassifier, fit_linear
from greffe.baselines.probe import probe_accuracy
from greffe.data.tables import Example
from greffe.seeding import rng

LABELS = ["neg", "pos"]


@pytest.fixture
def examples() -> list[Example]:
    """The class is given by one word among others."""
    draw = rng(0, "probe texts")
    others = ["long", "beau", "triste", "roman", "récit", "film", "toujours", "plutôt"]
    found = []
    for number in range(80):
        words = [*draw.choice(others, 4), "magnifique" if number % 2 else "décevant"]
        draw.shuffle(words)
        found.append(Example(f"{' '.join(words)} {number}", LABELS[number % 2]))
    return found


def score(reader: BaseReader, examples: list[Example], seed: int = 0) -> list[float]:
    return probe_accuracy(
        reader.model, reader.tokenizer, examples, LABELS, causal=reader.causal, seed=seed
    )


def test_an_informative_base_scores_higher(reader: BaseReader, examples: list[Example]) -> None:
    informative = score(reader, examples)
    with torch.no_grad():
        reader.model.base.embedding.weight.zero_()
    blind = score(reader, examples)
    assert len(informative) == len(blind) == 5
    assert np.mean(informative) > 0.9
    assert 0.3 < np.mean(blind) < 0.7


def test_equal_seeds_give_equal_folds(
    reader: BaseReader, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[list[Example]] = []

    def note(sample: list[Example], *arguments: Any, **options: Any) -> LinearClassifier:
        fitted.append(sample)
        return fit_linear(sample, *arguments, **options)

    monkeypatch.setattr(probe, "fit_linear", note)
    first = score(reader, examples)
    reader.causal = True  # in effect another base
    score(reader, examples)
    assert fitted[:5] == fitted[5:] and len(first) == 5
    score(reader, examples, seed=1)
    assert all(one != other for one, other in zip(fitted[:5], fitted[10:], strict=True))


def test_many_texts_are_sampled(
    reader: BaseReader, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "PROBE_TEXTS", 20)
    sizes = []
    features = BaseReader.features

    def note(self: BaseReader, texts: list[str]) -> np.ndarray:
        sizes.append(len(texts))
        return features(self, texts)

    monkeypatch.setattr(BaseReader, "features", note)
    score(reader, examples)
    assert sum(sizes) == 20
