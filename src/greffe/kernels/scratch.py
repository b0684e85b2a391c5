"""Buffers that kernels keep between calls, one of each name for each thread."""

from __future__ import annotations

import threading

import torch
from torch import Tensor

_scratches = threading.local()


def scratch(name: str, rows: int, columns: int, like: Tensor) -> Tensor:
    """Return a buffer kept between calls: allocating new pages costs as much as filling them."""
    kept: Tensor | None = getattr(_scratches, name, None)
    size = rows * columns
    if kept is None or kept.dtype != like.dtype or kept.device != like.device or len(kept) < size:
        # A buffer allocated in inference mode could not be written to by a later training step.
        with torch.inference_mode(False):
            kept = torch.empty(size, dtype=like.dtype, device=like.device)
        setattr(_scratches, name, kept)
    return kept[:size].view(rows, columns)


def padded(size: int, multiple: int) -> int:
    """Return the smallest multiple that is at least `size`."""
    return -(-size // multiple) * multiple
