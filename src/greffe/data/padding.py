"""Rows of tokens in batches of similar length, and padded; knows no torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

MAX_PADDING = 0.05  # fraction of a batch

Row = npt.NDArray[np.integer]


def group_by_length(rows: Sequence[Row], batch_tokens: int) -> list[list[int]]:
    """Return batches of row numbers with little padding, the longest rows first.

    Short batches at the end fill the remaining time of the cores.
    """
    batches: list[list[int]] = []
    batch: list[int] = []
    real = 0
    for index in sorted(range(len(rows)), key=lambda index: len(rows[index])):
        length = len(rows[index])
        # Rows come from short to long: the latest determines the width of the batch.
        padded = (len(batch) + 1) * length
        if batch and (padded > batch_tokens or padded - real - length > MAX_PADDING * padded):
            batches.append(batch)
            batch, real = [], 0
        batch.append(index)
        real += length
    if batch:
        batches.append(batch)
    return batches[::-1]


def pad_ids(rows: Sequence[Row], pad: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return rows as ids [B, T], padded on the right, and their lengths [B]."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    ids = np.full((len(rows), int(lengths.max())), pad, dtype=np.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
    return ids, lengths
