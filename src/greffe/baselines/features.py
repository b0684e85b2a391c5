"""Dense features of texts: the vectors of an untouched base, and the class scores of other runs.

Nothing here knows labels. A base reads long texts in windows. Features can be cached, so that many
fits on the same texts read each text once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from greffe.config.options import Computing
from greffe.data.tables import text_blocks
from greffe.data.tokenizer import Tokenizer
from greffe.inference.batched import forward_rows
from greffe.inference.forward import require_finite
from greffe.inference.placing import AS_IT_IS, PlacedModel
from greffe.inference.prediction import split_windows
from greffe.model.model import Model
from greffe.model.pooling import pool
from greffe.progress import Progress
from greffe.run import RunDirectory
from greffe.training.checkpoint import load_classification_tokenizer, load_model_and_hash

MIN_PROBABILITY = 1e-6
"""Smaller probabilities count as this one: no text outweighs all others."""


class Reader(Protocol):
    """Anything that turns texts into vectors: a base or a feature run."""

    @property
    def columns(self) -> int:
        """Number of features."""

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector per text [N, columns], float32."""


# --- a base's features --------------------------------------------------------------------------


class BaseReader:
    """A run's base and tokenizer, as a reader."""

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        *,
        causal: bool,
        weights_hash: str | None = None,
        computing: Computing = AS_IT_IS,
    ) -> None:
        self.model = model
        self.computing = computing
        self._placed = PlacedModel(model, computing, "features")
        self.tokenizer = tokenizer
        self.causal = causal
        self.weights_hash = weights_hash  # of the file, if the weights are from one

    @classmethod
    def of(cls, run: RunDirectory, computing: Computing = AS_IT_IS) -> Self:
        """Load the base of a run; it reads both ways if it was trained to."""
        reads_both_ways = "bidirectional" in run.manifest().directions
        model, weights_hash = load_model_and_hash(run)
        tokenizer = load_classification_tokenizer(run)
        return cls(
            model,
            tokenizer,
            causal=not reads_both_ways,
            weights_hash=weights_hash,
            computing=computing,
        )

    @property
    def columns(self) -> int:
        """Three vectors of the model's width: see `base_features`."""
        return 3 * self.model.spec.width

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector per text [N, columns], float32."""
        model = self._placed.model_for(texts)
        return base_features(model, self.tokenizer, texts, causal=self.causal)


def base_features(
    model: Model, tokenizer: Tokenizer, texts: Sequence[str], *, causal: bool
) -> np.ndarray:
    """Return one vector per text [N, 3 × width], float32.

    Mean embedding, mean of the last layer, and the last layer at the last token. The vector of a
    long text is the mean over its windows, weighted by their length.
    """
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

    found = forward_rows(model, rows, read, 3 * model.spec.width, pad=tokenizer.pad)
    require_finite(found)
    vectors = found.numpy()  # [windows of all texts, F]
    if len(rows) == len(documents):
        return vectors
    weights = np.array([len(part) for parts in windows for part in parts], dtype=np.float32)
    weights[weights == 0] = 1.0  # an empty text is its one window
    first = np.cumsum([0, *(len(parts) for parts in windows[:-1])])
    sums = np.add.reduceat(vectors * weights[:, None], first, axis=0)
    mean: np.ndarray = sums / np.add.reduceat(weights, first)[:, None]
    return mean


# --- feature runs -------------------------------------------------------------------------------


class FeatureRun:
    """A run that predicts class probabilities, as a reader. Its classes can be any classes."""

    def __init__(self, classes: int, probabilities: Callable[[Sequence[str]], np.ndarray]) -> None:
        self.columns = classes
        self.probabilities = probabilities

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """Return centered log-probabilities [N, classes], float32."""
        return centered_logs(self.probabilities(texts))


def centered_logs(probabilities: np.ndarray) -> np.ndarray:
    """Turn probabilities [N, classes] into logarithms minus their mean over classes, float32."""
    logs = np.log(np.maximum(probabilities, MIN_PROBABILITY))
    centered: np.ndarray = logs - logs.mean(axis=1, keepdims=True)
    return centered.astype(np.float32)


def run_features(feature_runs: Sequence[Reader], texts: Sequence[str]) -> list[np.ndarray]:
    """Return each run's features of the texts [N, its columns], with progress."""
    if not feature_runs:
        return []
    with Progress("predict with feature runs", len(feature_runs) * len(texts), "texts") as progress:
        return [read_in_blocks(feature_run, texts, progress) for feature_run in feature_runs]


# --- each text once -----------------------------------------------------------------------------


class CachedReader:
    """A reader that keeps the vector of every text that it has read."""

    def __init__(self, columns: int, read: Callable[[Sequence[str]], np.ndarray]) -> None:
        self.columns = columns
        self._read = read
        self._known: dict[str, np.ndarray] = {}

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector per text [N, columns], float32; only new texts are read."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._read(new), strict=True))
        result = np.empty((len(texts), self.columns), dtype=np.float32)
        for index, text in enumerate(texts):
            result[index] = self._known[text]
        return result


class FeatureCache(BaseReader):
    """A base that reads each text once."""

    def __init__(self, base: RunDirectory | BaseReader) -> None:
        reader = BaseReader.of(base) if isinstance(base, RunDirectory) else base
        super().__init__(
            reader.model,
            reader.tokenizer,
            causal=reader.causal,
            weights_hash=reader.weights_hash,
            computing=reader.computing,
        )
        self._reader = reader
        self._cached = CachedReader(self.columns, self._read)

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector per text [N, columns], float32; only new texts are read."""
        return self._cached.features(texts)

    def _read(self, texts: Sequence[str]) -> np.ndarray:
        with Progress("read with the base", len(texts), "texts") as progress:
            return read_in_blocks(self._reader, texts, progress)


def read_in_blocks(reader: Reader, texts: Sequence[str], progress: Progress) -> np.ndarray:
    """Return one vector per text [N, columns], read block by block."""
    blocks = []
    for block in text_blocks(texts):
        blocks.append(reader.features(block))
        progress.advance(len(block))
    return np.concatenate(blocks)
