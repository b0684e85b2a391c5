"""Sampler: (seed, step) → rows of the global batch. Pure functions, no state.

Pretraining rows are permuted by a keyed bijection computed on the fly, so a corpus of any size
costs nothing; labelled examples are planned an epoch at a time, texts of like length together.
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
    """Image of each position under a keyed permutation of range(total).

    A Feistel network permutes the next power of four; values that fall outside are sent through
    it again until they fall inside (cycle walking), which keeps it a bijection.
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
    """Rows of a packed corpus: each epoch visits each row once, in its own order."""

    seed: int
    rows: int
    batch: int

    @property
    def steps_per_epoch(self) -> float:
        """Steps until each row was seen once; batches run on across epochs."""
        return self.rows / self.batch

    def step(self, step: int) -> Indices:
        """Row numbers of the global batch at `step` (0-based)."""
        positions = np.arange(step * self.batch, (step + 1) * self.batch, dtype=np.int64)
        epochs, places = positions // self.rows, positions % self.rows
        result = np.empty_like(positions)
        for epoch in np.unique(epochs):
            chosen = epochs == epoch
            result[chosen] = permuted(
                places[chosen], self.rows, derive(self.seed, "rows", int(epoch))
            )
        return result


@dataclass(frozen=True)
class ExampleSampler:
    """Labelled examples: an epoch is a partition into batches of texts of like length.

    A batch of short texts holds more of them, one of long texts fewer: `batch` is the mean.
    """

    seed: int
    lengths: tuple[int, ...]
    batch: int

    @property
    def steps_per_epoch(self) -> int:
        """Batches an epoch, the same in each."""
        return -(-len(self.lengths) // self.batch)

    def epoch(self, epoch: int) -> list[Indices]:
        """All batches of one epoch, as example numbers."""
        source = rng(self.seed, "examples", epoch)
        order = source.permutation(len(self.lengths)).astype(np.int64)
        lengths = np.asarray(self.lengths, dtype=np.int64)
        # Every text counts as one of mean length beside its own: tokens alone would put so many
        # short ones into a batch that each of them hardly weighed.
        costs = lengths + lengths.mean()
        window = self.batch * WINDOW_BATCHES
        batches: list[Indices] = []
        for start in range(0, len(order), window):
            part = order[start : start + window]
            part = part[np.argsort(lengths[part], kind="stable")]
            batches += np.split(part, _equal_cuts(costs[part], -(-len(part) // self.batch)))
        return [batches[place] for place in source.permutation(len(batches))]

    def step(self, step: int) -> Indices:
        """Example numbers of the batch at `step` (0-based)."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return _plan(self, epoch)[place]


def _equal_cuts(costs: npt.NDArray[np.float64], parts: int) -> Indices:
    """Where to cut so that all parts cost about the same and none is empty; [parts - 1]."""
    total = np.cumsum(costs)
    wanted = np.searchsorted(total - costs / 2, total[-1] * np.arange(1, parts) / parts)
    least = np.arange(1, parts)
    cuts = np.maximum.accumulate(wanted - least) + least
    return np.clip(cuts, least, len(costs) - parts + least)


@lru_cache(maxsize=1)
def _plan(sampler: ExampleSampler, epoch: int) -> list[Indices]:
    """The epoch in progress: to plan a million examples takes as long as several steps."""
    return sampler.epoch(epoch)
