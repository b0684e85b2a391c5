"""Position schemes: how a base learns where a token stands. Knows nothing of data or heads.

A scheme overrides one of three hooks and leaves the others as they are: `embed` adds to the
token vectors, `rotate` turns queries and keys, `bias` adds to the attention scores. Nothing but
`Learned` holds tensors: angles and slopes follow from the positions themselves, so that there is
no table to outgrow, to save or to lose on the meta device.
"""

from __future__ import annotations

from typing import assert_never

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from greffe.config import recipe as config
from greffe.errors import InputError

SINUSOID_BASE = 10_000.0


class PositionScheme(nn.Module):
    """No positions, and the three hooks that a scheme may override."""

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Token vectors [B, T, width] with what positions [B or 1, T] add to them."""
        return x

    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys [B, heads, T, head width], both at positions [B or 1, T]."""
        return q, k

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor | None:
        """What is added to the scores [B or 1, heads, queries, keys], or None."""
        return None


class NoPosition(PositionScheme):
    """Every hook left as it is."""


class Sinusoidal(PositionScheme):
    """Sines in the even columns, cosines in the odd ones, wavelengths from 2π to 10000·2π."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def table(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """The encoding [B or 1, T, width] of positions [B or 1, T]."""
        angles = _angles(positions, self.width, SINUSOID_BASE, dtype)  # [B, T, ceil(width / 2)]
        # An odd width has one sine more than cosines: the last cosine falls off.
        both = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
        return both[..., : self.width].to(dtype)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + self.table(positions, x.dtype)


class Learned(PositionScheme):
    """One vector a position; there is none past the context."""

    def __init__(self, context: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(context, width))

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        context = self.weight.shape[0]
        longest = int(positions.max()) + 1 if positions.numel() else 0
        if longest > context:
            raise InputError(
                "The row is longer than the learned positions of this model.",
                expected=f"at most {context} tokens (model.context)",
                found=f"{longest} tokens",
                hint="cut the text into windows, or use rotary, sinusoidal or alibi positions",
            )
        return x + F.embedding(positions, self.weight)


class Rotary(PositionScheme):
    """Each pair of neighbouring columns of queries and keys turned by position · frequency."""

    def __init__(self, head_width: int, base: float) -> None:
        super().__init__()
        self.head_width = head_width
        self.base = base

    def angles(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """Angles [B or 1, T, head width / 2] at positions [B or 1, T]."""
        return _angles(positions, self.head_width, self.base, dtype)

    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = self.angles(positions, q.dtype)[:, None]  # [B, 1, T, head width / 2]
        turns = torch.polar(torch.ones_like(angles), angles)
        return _turn(q, turns), _turn(k, turns)


class Alibi(PositionScheme):
    """Scores lowered by slope · distance; slopes fall geometrically from head to head.

    The distance is absolute, so that the scheme serves both reading directions.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def slopes(self) -> list[float]:
        """One slope a head: 2^(-8/heads), 2^(-16/heads), …, 2^-8."""
        return [2.0 ** (-8.0 * (head + 1) / self.heads) for head in range(self.heads)]

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        distances = (query_positions[:, :, None] - key_positions[:, None, :]).abs()
        slopes = torch.tensor(self.slopes(), device=distances.device)
        return -distances[:, None] * slopes[:, None, None]


def build_position(spec: config.PositionSpec, model: config.ModelSpec) -> PositionScheme:
    """The scheme that a recipe asks for, sized for the model."""
    match spec:
        case config.Sinusoidal():
            return Sinusoidal(model.width)
        case config.Learned():
            return Learned(model.context, model.width)
        case config.Rotary():
            return Rotary(model.width // model.heads, spec.base)
        case config.Alibi():
            return Alibi(model.heads)
        case config.NoPosition():
            return NoPosition()
        case _:
            assert_never(spec)


def default_positions(
    count: int, *, past: int = 0, documents: Tensor | None = None, device: torch.device
) -> Tensor:
    """Positions [B or 1, count] from `past` on; each document of a packed row counts from zero."""
    indices = torch.arange(past, past + count, device=device)[None]
    if documents is None:
        return indices
    # [B, T]: the index of each document's first token, carried to the right by the maximum.
    is_start = torch.ones_like(documents, dtype=torch.bool)
    is_start[:, 1:] = documents[:, 1:] != documents[:, :-1]
    starts = torch.where(is_start, indices, 0).cummax(dim=1).values
    return indices - starts


def _angles(positions: Tensor, width: int, base: float, dtype: torch.dtype) -> Tensor:
    # Half precision cannot count positions: angles are never below single precision.
    exact = torch.promote_types(dtype, torch.float32)
    columns = torch.arange(0, width, 2, device=positions.device, dtype=exact)
    return positions[..., None].to(exact) * base ** (-columns / width)


def _turn(x: Tensor, turns: Tensor) -> Tensor:
    # Pairs as complex numbers turn by one product, at less than half the cost of four real ones.
    pairs = torch.view_as_complex(x.to(turns.real.dtype).reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)
