"""Sinusoidal positions, as in the original transformer."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.model.diagrams import ADDED_TO_EMBEDDING, DIMENSION, POSITION, Diagram, Label, Panel
from greffe.model.positions.scheme import PositionScheme, angles

BASE = 10_000.0


class Sinusoidal(PositionSpec):
    """Sines and cosines added to the embedding; no parameters."""

    kind: Literal["sinusoidal"] = "sinusoidal"

    def build(self, model: ModelSpec) -> SinusoidalPositions:
        return SinusoidalPositions(model.token_width)


class SinusoidalPositions(PositionScheme):
    """Sines in the even columns, cosines in the odd ones, wavelengths from 2π to 10000·2π."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def table(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the encoding [B or 1, T, width] of positions [B or 1, T]."""
        turns = angles(positions, self.width, BASE, dtype)  # [B, T, ceil(width / 2)]
        # An odd width has one sine more than cosines: the last cosine is dropped.
        both = torch.stack((turns.sin(), turns.cos()), dim=-1).flatten(-2)
        return both[..., : self.width].to(dtype)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + self.table(positions, x.dtype)

    def diagram(self, model: ModelSpec, positions: Tensor) -> Diagram:
        values = self.table(positions, torch.float32)[0]
        panel = Panel(None, values, POSITION, DIMENSION)
        title = Label("sinusoidal_positions", "Sinusoidal positions")
        return Diagram(title, ADDED_TO_EMBEDDING, (panel,), low=-1.0, high=1.0)
