"""No positions: for experiments on what they are worth."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.model.positions.scheme import PositionScheme
from greffe.model.views import Label, View


class NoPosition(PositionSpec):
    """No positions."""

    kind: Literal["none"] = "none"

    def build(self, model: ModelSpec) -> NoPositions:
        return NoPositions()


class NoPositions(PositionScheme):
    """Every hook does nothing."""

    def view(self, model: ModelSpec, positions: Tensor) -> View:
        text = "No positions: this model does not know where a token is in the row"
        return View(Label("no_positions", text), Label("no_positions", ""), (), low=0.0, high=0.0)
