"""Learned positions: one trained vector per position."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from greffe.config.components import Formula, PositionSpec
from greffe.config.sections import ModelSpec
from greffe.errors import InputError
from greffe.model.diagrams import ADDED_TO_EMBEDDING, DIMENSION, POSITION, Diagram, Label, Panel
from greffe.model.positions.scheme import PositionScheme


class Learned(PositionSpec):
    """One learned vector per position, added to the embedding."""

    kind: Literal["learned"] = "learned"

    def build(self, model: ModelSpec) -> LearnedPositions:
        return LearnedPositions(model.context, model.token_width)

    def parameters(self, model: ModelSpec) -> Formula:
        return f"{model.context} × {model.token_width}", model.context * model.token_width


class LearnedPositions(PositionScheme):
    """A table of vectors that ends with the context."""

    def __init__(self, context: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(context, width))

    def check_length(self, count: int, positions: Tensor | None) -> None:
        context = self.weight.shape[0]
        # On a GPU, positions are read only if the row alone does not fit: reading waits for it.
        if positions is not None and (count > context or positions.device.type == "cpu"):
            count = int(positions.max()) + 1 if positions.numel() else 0
        if count > context:
            raise InputError(
                "The row is longer than the learned positions of this model.",
                expected=f"at most {context} tokens (model.context)",
                found=f"{count} tokens",
                hint="cut the text into windows, or use rotary, sinusoidal or alibi positions",
            )

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + F.embedding(positions, self.weight)

    def diagram(self, model: ModelSpec, positions: Tensor) -> Diagram:
        values = self.weight.detach()[positions[0, : model.context]]
        limit = float(values.abs().max())
        panel = Panel(None, values, POSITION, DIMENSION)
        title = Label("learned_positions", "Learned positions")
        return Diagram(title, ADDED_TO_EMBEDDING, (panel,), low=-limit, high=limit)
