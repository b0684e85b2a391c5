"""Reviews in three classes, and a base that stands in for a trained one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from greffe.baselines.features import BaseReader
from greffe.config.sections import ModelSpec
from greffe.data.tokenizer import Tokenizer
from greffe.model.model import build_model
from greffe.seeding import rng

WORDS = ("magnifique superbe beau", "ennuyeux nul décevant", "correct moyen passable")


@pytest.fixture(scope="session")
def reviews() -> tuple[list[str], np.ndarray]:
    """Ninety texts, mostly with a word of their class, and their classes."""
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
    """Stands in for a base: vectors that were given beforehand."""

    def __init__(self, vectors: dict[str, np.ndarray]) -> None:
        self.vectors = vectors

    @property
    def columns(self) -> int:
        return len(next(iter(self.vectors.values())))

    def features(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.vectors[text] for text in texts])


@pytest.fixture
def telling(reviews: tuple[list[str], np.ndarray]) -> Known:
    """A base that knows every class without doubt."""
    texts, targets = reviews
    noise = rng(1, "telling").normal(size=(len(texts), 5))
    known = np.column_stack((np.eye(3)[targets], 0.1 * noise)).astype(np.float32)
    return Known(dict(zip(texts, known, strict=True)))
