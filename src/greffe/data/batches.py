"""Batch: the tensors that an objective prepares and a model takes as input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from greffe.data.padding import pad_ids


@dataclass(frozen=True)
class Batch:
    """Token ids, attention information, and the targets with their positions.

    `counts` holds the number of predictions per term of the loss. It is known before the forward
    pass, so that a step over several micro-batches or ranks divides once by the global count.
    """

    ids: Tensor
    """[B, T] int64."""
    counts: dict[str, float]
    """Number of predictions per term of the loss."""
    lengths: Tensor | None = None
    """[B] tokens per row without padding; None: no padding."""
    documents: Tensor | None = None
    """[B, T] index of the document within the row; None: one document per row."""
    positions: Tensor | None = None
    """[B, T] position within the document; None: 0, 1, 2 …"""
    targets: Tensor | None = None
    """The targets: [N] token ids at `indices`, or [B] class indices."""
    indices: Tensor | None = None
    """[N] indices into the flattened [B·T] positions at which tokens are predicted."""
    follows: Tensor | None = None
    """[B] 1 if the second segment follows the first."""
    words: Tensor | None = None
    """[W] token ids that are predicted from a whole document."""
    word_documents: Tensor | None = None
    """[W] number of each word's document, as in `documents`."""
    document_tokens: Tensor | None = None
    """[D] tokens of each of these documents, which are numbered through all rows."""
    tokens: int = 0
    """Number of tokens without padding."""
    target_bytes: dict[str, int] = field(default_factory=dict)
    """UTF-8 bytes of the predicted tokens per term, for bits per byte."""
    parts: dict[str, Batch] = field(default_factory=dict)
    """Sub-batches of an objective that combines others."""

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Batch:
        """Return the batch on a device; the same batch if it is there already.

        `non_blocking`: do not wait for the copy, which overlaps with computing if it is from pinned
        memory.
        """
        if self.ids.device == device:
            return self
        return self._changed(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pinned(self) -> Batch:
        """Return a copy in pinned memory, from which a GPU reads without waiting."""
        return self._changed(lambda tensor: tensor.pin_memory())

    def _changed(self, change: Callable[[Tensor], Tensor]) -> Batch:
        own = {item.name: getattr(self, item.name) for item in fields(self)}
        changed: dict[str, Any] = {
            name: change(value) for name, value in own.items() if isinstance(value, Tensor)
        }
        parts = {name: part._changed(change) for name, part in self.parts.items()}
        return replace(self, **changed, parts=parts)


def pad_rows(rows: Sequence[npt.NDArray[np.integer]], pad: int) -> tuple[Tensor, Tensor | None]:
    """Pad rows to ids [B, T]; also return lengths [B], or None if all rows are equally long."""
    ids, lengths = pad_ids(rows, pad)
    needs_lengths = bool((lengths < ids.shape[1]).any())
    return torch.from_numpy(ids), torch.from_numpy(lengths) if needs_lengths else None
