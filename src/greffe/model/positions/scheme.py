"""What every position scheme offers, and the positions of a row. Knows nothing of data or heads."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from greffe.config.sections import ModelSpec
from greffe.model.diagrams import Diagram


class PositionScheme(nn.Module, ABC):
    """Three hooks, of which a scheme overrides one, and a view of what it does.

    `embed` adds to the token vectors, `rotate` turns queries and keys, `bias` adds to the attention
    scores. Models are built on the meta device: `build_model` initializes the weights, whatever the
    constructor put into them. A scheme without weights computes everything from the positions
    themselves: there is no table to outgrow, to save or to lose.
    """

    def check_length(self, count: int, positions: Tensor | None) -> None:
        """Raise an error if rows of `count` tokens are too long, whose positions may be given.

        It is called before positions exist on a device, where reading them would wait for it.
        """

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return token vectors x [B, T, width] with what positions [B or 1, T] add to them."""
        return x

    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return queries and keys [B, heads, T, head width], both at positions [B or 1, T]."""
        return q, k

    def rotation(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor] | None:
        """Return what `rotate` turns pairs of columns by: cosines and sines, or None.

        Both are [B or 1, T, head width / 2], for kernels that rotate by themselves.
        """
        return None

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor | None:
        """Return what is added to the scores [B or 1, heads, queries, keys], or None."""
        return None

    @abstractmethod
    def diagram(self, model: ModelSpec, positions: Tensor) -> Diagram:
        """Return what the scheme does at positions [1, T], as matrices."""


def default_positions(
    count: int, *, past: int = 0, documents: Tensor | None = None, device: torch.device
) -> Tensor:
    """Return positions [B or 1, count] from `past` on; each document of a row starts at zero."""
    indices = torch.arange(past, past + count, device=device)[None]
    if documents is None:
        return indices
    # [B, T]: the index of each document's first token, carried to the right by the maximum.
    is_start = torch.ones_like(documents, dtype=torch.bool)
    is_start[:, 1:] = documents[:, 1:] != documents[:, :-1]
    starts = torch.where(is_start, indices, 0).cummax(dim=1).values
    return indices - starts


def angles(positions: Tensor, width: int, base: float, dtype: torch.dtype) -> Tensor:
    """Return angles [..., ceil(width / 2)] at positions [...], one frequency per column pair."""
    # Half precision cannot count positions: angles have at least single precision.
    exact = torch.promote_types(dtype, torch.float32)
    columns = torch.arange(0, width, 2, device=positions.device, dtype=exact)
    return positions[..., None].to(exact) * base ** (-columns / width)
