"""No positions: for experiments on what they are worth."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.model.diagrams import Diagram, Label
from greffe.model.positions.scheme import PositionScheme


class NoPosition(PositionSpec):
    """No positions."""

    kind: Literal["none"] = "none"

    def build(self, model: ModelSpec) -> NoPositions:
        return NoPositions()


class NoPositions(PositionScheme):
    """Every hook does nothing."""

    def diagram(self, model: ModelSpec, positions: Tensor) -> Diagram:
        text = "No positions: this model does not know where a token is in the row"
        return Diagram(
            Label("no_positions", text), Label("no_positions", ""), (), low=0.0, high=0.0
        )
