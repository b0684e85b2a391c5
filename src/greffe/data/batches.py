"""Batch: what an objective makes of rows and a model reads. Tensors only; knows no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Token ids with what attention may see, and what is to be predicted where.

    `counts` holds for each term of the loss how many predictions it sums over, known before the
    forward pass, so that steps over several parts or processes divide once by the global count.
    """

    ids: Tensor
    """[B, T] int64."""
    counts: dict[str, float]
    """Predictions a term of the loss."""
    lengths: Tensor | None = None
    """[B] real tokens a row; None: no padding."""
    documents: Tensor | None = None
    """[B, T] document number inside the row; None: one document a row."""
    positions: Tensor | None = None
    """[B, T] position inside the document; None: 0, 1, 2 …"""
    targets: Tensor | None = None
    """What is to be predicted: [N] token ids at `indices`, or [B] class numbers."""
    indices: Tensor | None = None
    """[N] flat positions in [B·T] that are predicted."""
    follows: Tensor | None = None
    """[B] 1 where the second half follows the first."""
    tokens: int = 0
    """Real tokens read."""
    target_bytes: dict[str, int] = field(default_factory=dict)
    """UTF-8 bytes of the predicted tokens a term, for bits per byte."""
    parts: dict[str, Batch] = field(default_factory=dict)
    """Sub-batches of an objective that reads rows in two ways."""


def pad_rows(rows: Sequence[npt.NDArray[np.integer]], pad: int) -> tuple[Tensor, Tensor | None]:
    """Rows of unequal length → ids [B, T] and lengths [B], or None where none is shorter."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    width = int(lengths.max())
    ids = np.full((len(rows), width), pad, dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
    needs_lengths = bool((lengths < width).any())
    return torch.from_numpy(ids), torch.from_numpy(lengths) if needs_lengths else None
