"""Reviews in three classes, and stand-ins for a trained base."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from greffe.baselines.features import BaseReader, FeatureRun
from greffe.baselines.logistic_regression import softmax
from greffe.config.sections import ModelSpec
from greffe.data.tokenizer import Tokenizer
from greffe.model.model import build_model
from greffe.seeding import rng

WORDS = ("magnifique superbe beau", "ennuyeux nul décevant", "correct moyen passable")


@pytest.fixture(scope="session")
def reviews() -> tuple[list[str], np.ndarray]:
    """Ninety texts, most with a word of their class, and their class numbers."""
    draw = rng(0, "reviews")
    targets = np.arange(90) % 3
    texts = []
    for number, label in enumerate(targets):
        told = label if draw.random() < 0.8 else draw.integers(3)
        word = draw.choice(WORDS[told].split())
        texts.append(f"Ce livre {number % 17} est {word} au chapitre {draw.integers(40)}.")
    return texts, targets


@pytest.fixture
def reader(tiny_tokenizer: Tokenizer) -> BaseReader:
    """A small base with fresh weights, left in training mode on purpose."""
    spec = ModelSpec(width=16, layers=2, heads=2, feed_forward=32, context=16, dropout=0.3)
    model = build_model(spec, tiny_tokenizer.size, {}, seed=3).train()
    return BaseReader(model, tiny_tokenizer, causal=False)


class Known(BaseReader):
    """A base with given vectors."""

    def __init__(self, vectors: dict[str, np.ndarray]) -> None:
        self.vectors = vectors

    @property
    def columns(self) -> int:
        return len(next(iter(self.vectors.values())))

    def features(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.vectors[text] for text in texts])


@pytest.fixture
def informative(reviews: tuple[list[str], np.ndarray]) -> Known:
    """A base whose features identify every class."""
    texts, targets = reviews
    noise = rng(1, "telling").normal(size=(len(texts), 5))
    known = np.column_stack((np.eye(3)[targets], 0.1 * noise)).astype(np.float32)
    return Known(dict(zip(texts, known, strict=True)))


@pytest.fixture(scope="session")
def random_run() -> Callable[..., FeatureRun]:
    """Makes feature runs whose class scores are a random function of the text."""

    def make(classes: int, seed: int = 0) -> FeatureRun:
        def probabilities(texts: Sequence[str]) -> np.ndarray:
            drawn = [rng(seed, "teacher", text).normal(size=classes) for text in texts]
            return softmax(3 * np.array(drawn).reshape(len(texts), classes))

        return FeatureRun(classes, probabilities)

    return make


@pytest.fixture
def informative_run(reviews: tuple[list[str], np.ndarray]) -> FeatureRun:
    """A feature run with five other labels, which tell ours apart nine times out of ten."""
    draw = rng(2, "knowing")
    told = [label if draw.random() < 0.9 else draw.integers(3) for label in reviews[1]]
    probabilities = softmax(4 * np.eye(5)[told] + draw.normal(size=(len(told), 5)))
    known = dict(zip(reviews[0], probabilities, strict=True))
    return FeatureRun(5, lambda texts: np.stack([known[text] for text in texts]))
