"""Samplers: pure functions from (seed, step) to the rows of the global batch.

Pretraining rows are permuted by a keyed bijection, which needs no memory for a corpus of any size;
labelled examples are planned one epoch at a time, with texts of similar length together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from greffe.seeding import derive, rng

Indices = npt.NDArray[np.int64]
ROUNDS = 4
WINDOW_BATCHES = 32


def permuted(positions: Indices, total: int, key: int) -> Indices:
    """Return the image of each position under a keyed permutation of range(total).

    A Feistel network permutes the next power of four; values outside the range are permuted again
    until they are inside (cycle walking), which keeps it a bijection.
    """
    if total <= 1:
        return np.zeros_like(positions)
    half = np.uint64(max(1, ((total - 1).bit_length() + 1) // 2))
    low = np.uint64((1 << int(half)) - 1)
    keys = [np.uint64(derive(key, "round", number)) for number in range(ROUNDS)]

    def shuffle_once(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        left, right = values >> half, values & low
        for round_key in keys:
            mixed = (right ^ round_key) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            left, right = right, left ^ ((mixed >> np.uint64(32)) & low)
        return (left << half) | right

    values = shuffle_once(positions.astype(np.uint64))
    while (outside := values >= np.uint64(total)).any():
        values[outside] = shuffle_once(values[outside])
    return values.astype(np.int64)


@dataclass(frozen=True)
class RowSampler:
    """Rows of a packed corpus: each epoch visits every row once, in a different order."""

    seed: int
    rows: int
    batch: int

    @property
    def steps_per_epoch(self) -> float:
        """Steps until every row was seen once; batches may span two epochs."""
        return self.rows / self.batch

    def step(self, step: int) -> Indices:
        """Return the row indices of the global batch at `step` (0-based)."""
        positions = np.arange(step * self.batch, (step + 1) * self.batch, dtype=np.int64)
        epochs, within = positions // self.rows, positions % self.rows
        result = np.empty_like(positions)
        for epoch in np.unique(epochs):
            chosen = epochs == epoch
            result[chosen] = permuted(
                within[chosen], self.rows, derive(self.seed, "rows", int(epoch))
            )
        return result


@dataclass(frozen=True)
class ExampleSampler:
    """Labelled examples: an epoch is a partition into batches of texts of similar length.

    Batches of short texts have more examples than batches of long ones; `batch` is the mean.
    """

    seed: int
    lengths: tuple[int, ...]
    batch: int

    @property
    def steps_per_epoch(self) -> int:
        """Batches per epoch, the same in every epoch."""
        return -(-len(self.lengths) // self.batch)

    def epoch(self, epoch: int) -> list[Indices]:
        """Return all batches of one epoch as example indices."""
        source = rng(self.seed, "examples", epoch)
        order = source.permutation(len(self.lengths)).astype(np.int64)
        lengths = np.asarray(self.lengths, dtype=np.int64)
        # The mean length is added to every text: by tokens alone, a batch would hold so many short
        # texts that each of them would hardly count.
        costs = lengths + lengths.mean()
        window = self.batch * WINDOW_BATCHES
        batches: list[Indices] = []
        for start in range(0, len(order), window):
            part = order[start : start + window]
            part = part[np.argsort(lengths[part], kind="stable")]
            batches += np.split(part, _equal_cuts(costs[part], -(-len(part) // self.batch)))
        return [batches[index] for index in source.permutation(len(batches))]

    def step(self, step: int) -> Indices:
        """Return the example indices of the batch at `step` (0-based)."""
        epoch, index = divmod(step, self.steps_per_epoch)
        return _plan(self, epoch)[index]


def _equal_cuts(costs: npt.NDArray[np.float64], parts: int) -> Indices:
    """Return split points [parts - 1] such that parts cost about the same and none is empty."""
    total = np.cumsum(costs)
    balanced = np.searchsorted(total - costs / 2, total[-1] * np.arange(1, parts) / parts)
    least = np.arange(1, parts)
    cuts = np.maximum.accumulate(balanced - least) + least
    return np.clip(cuts, least, len(costs) - parts + least)


@lru_cache(maxsize=1)
def _plan(sampler: ExampleSampler, epoch: int) -> list[Indices]:
    """Cache the current epoch: planning a million examples takes as long as several steps."""
    return sampler.epoch(epoch)
