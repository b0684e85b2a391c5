"""Rotary positions: queries and keys are rotated, so that scores depend on distance."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor

from greffe.config.bounds import OptionalWavelength, Wavelength
from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.model.diagrams import POSITION, Diagram, Label, Panel
from greffe.model.positions.scheme import PositionScheme, angles


class Rotary(PositionSpec):
    """Queries and keys rotated by an angle that grows with the position."""

    kept_vectors: ClassVar[int] = 2
    kind: Literal["rotary"] = "rotary"
    base: Wavelength = 10_000.0
    """Longest wavelength in positions, divided by 2π."""
    local_base: OptionalWavelength = 0.0
    """The same in blocks that attend to a window; 0: as base."""

    def build(self, model: ModelSpec) -> RotaryPositions:
        return RotaryPositions(model.head_width, self.base)

    def build_local(self, model: ModelSpec) -> RotaryPositions | None:
        return RotaryPositions(model.head_width, self.local_base) if self.local_base else None

    def check(self, model: ModelSpec) -> None:
        if model.head_width % 2:
            raise ValueError(
                f"rotary positions need an even width per head, found {model.head_width}"
            )


class RotaryPositions(PositionScheme):
    """Each pair of adjacent columns of queries and keys rotated by position · frequency."""

    def __init__(self, head_width: int, base: float) -> None:
        super().__init__()
        self.head_width = head_width
        self.base = base

    def angles(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """Return angles [B or 1, T, head width / 2] at positions [B or 1, T]."""
        return angles(positions, self.head_width, self.base, dtype)

    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        turns = self.angles(positions, q.dtype)[:, None]  # [B, 1, T, head width / 2]
        if q.device.type != "cpu":  # torch.compile has no kernels for complex numbers
            cos, sin = turns.cos(), turns.sin()
            return _rotate_pairs(q, cos, sin), _rotate_pairs(k, cos, sin)
        factors = torch.polar(torch.ones_like(turns), turns)
        return _rotate(q, factors), _rotate(k, factors)

    def rotation(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        turns = self.angles(positions, dtype)
        return turns.cos().to(dtype), turns.sin().to(dtype)

    def diagram(self, model: ModelSpec, positions: Tensor) -> Diagram:
        cosines = self.angles(positions, torch.float32).cos()[0]
        pair = Label("dimension_pair", "pair of dimensions of a query or key")
        title = Label("rotary_positions", "Rotary positions")
        meaning = Label("cosine", "cosine of the angle")
        return Diagram(title, meaning, (Panel(None, cosines, POSITION, pair),), low=-1.0, high=1.0)


def _rotate(x: Tensor, factors: Tensor) -> Tensor:
    # One complex product costs less than half of four real ones.
    pairs = torch.view_as_complex(x.to(factors.real.dtype).reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * factors).flatten(-2).to(x.dtype)


def _rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Return the same in real numbers."""
    even, odd = x.to(cos.dtype).reshape(*x.shape[:-1], -1, 2).unbind(-1)
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return turned.flatten(-2).to(x.dtype)
