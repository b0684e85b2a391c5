"""Features of texts from an untouched base: its embeddings and its last layer, pooled.

Knows no labels. Long texts are read in windows. Vectors can be kept, so that many fits on the same
texts read each of them once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from greffe.data.tokenizer import Tokenizer
from greffe.inference.batched import forward_rows
from greffe.inference.predict import BLOCK_TEXTS, split_windows
from greffe.model.model import Model
from greffe.model.pooling import pool
from greffe.progress import Progress
from greffe.run import RunDirectory
from greffe.training.checkpoint import load_classification_tokenizer, load_model


class Reader(Protocol):
    """Whatever turns texts into vectors: a base, or a teacher."""

    @property
    def columns(self) -> int:
        """Features of a text."""

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """One vector a text [N, columns]."""


def base_features(
    model: Model, tokenizer: Tokenizer, texts: Sequence[str], *, causal: bool
) -> np.ndarray:
    """One vector a text [N, F], float32: see `feature_count`."""
    documents = tokenizer.encode_batch(list(texts))
    windows = [split_windows(ids, model.spec.context - 2, "windows") for ids in documents]
    rows = [tokenizer.wrap(part) for parts in windows for part in parts]

    def read(ids: Tensor, lengths: Tensor | None) -> Tensor:
        hidden = model.base(ids, causal=causal, lengths=lengths)
        embedded = model.base.embedding(ids)
        parts = (
            pool(embedded, lengths, "mean"),
            pool(hidden, lengths, "mean"),
            pool(hidden, lengths, "last"),
        )
        return torch.cat(parts, dim=-1)

    found = forward_rows(model, rows, read, feature_count(model), pad=tokenizer.pad)
    vectors = found.numpy()  # [windows of all texts, F]
    if len(rows) == len(documents):
        return vectors
    weights = np.array([len(part) for parts in windows for part in parts], dtype=np.float32)
    weights[weights == 0] = 1.0  # an empty text is its one window
    first = np.cumsum([0, *(len(parts) for parts in windows[:-1])])
    sums = np.add.reduceat(vectors * weights[:, None], first, axis=0)
    mean: np.ndarray = sums / np.add.reduceat(weights, first)[:, None]
    return mean


def feature_count(model: Model) -> int:
    """Mean of the embeddings; mean of the last layer; the last layer at the text's end."""
    return 3 * model.spec.width


class BaseReader:
    """A run's base and tokenizer, ready to turn texts into vectors."""

    def __init__(self, model: Model, tokenizer: Tokenizer, *, causal: bool) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.causal = causal

    @classmethod
    def of(cls, run: RunDirectory) -> Self:
        """The base of a run; reads as its classifiers would, and both ways if it learnt to."""
        manifest = run.manifest()
        reads_both_ways = "bidirectional" in manifest.directions
        return cls(load_model(run), load_classification_tokenizer(run), causal=not reads_both_ways)

    @property
    def columns(self) -> int:
        """Features of a text."""
        return feature_count(self.model)

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """One vector a text [N, F]."""
        return base_features(self.model, self.tokenizer, texts, causal=self.causal)


class KeepingReader:
    """A reader that keeps the vector of every text that it has read."""

    def __init__(self, columns: int, read: Callable[[Sequence[str]], np.ndarray]) -> None:
        self.columns = columns
        self._read = read
        self._known: dict[str, np.ndarray] = {}

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """One vector a text [N, columns], float32; only new texts are read."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._read(new), strict=True))
        result = np.empty((len(texts), self.columns), dtype=np.float32)
        for place, text in enumerate(texts):
            result[place] = self._known[text]
        return result


class FeatureCache(BaseReader):
    """A base that reads each text once."""

    def __init__(self, base: RunDirectory | BaseReader) -> None:
        self._reader = BaseReader.of(base) if isinstance(base, RunDirectory) else base
        super().__init__(self._reader.model, self._reader.tokenizer, causal=self._reader.causal)
        self._kept = KeepingReader(self.columns, self._read)

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """One vector a text [N, F]; only new texts are read."""
        return self._kept.features(texts)

    def _read(self, texts: Sequence[str]) -> np.ndarray:
        with Progress("read with the base", len(texts), "texts") as progress:
            return read_in_blocks(self._reader, texts, progress)


def read_in_blocks(reader: Reader, texts: Sequence[str], progress: Progress) -> np.ndarray:
    """One vector a text [N, columns]; the texts pass in blocks, which progress counts."""
    blocks = []
    for start in range(0, len(texts), BLOCK_TEXTS):
        block = texts[start : start + BLOCK_TEXTS]
        blocks.append(reader.features(block))
        progress.advance(len(block))
    return np.concatenate(blocks)
