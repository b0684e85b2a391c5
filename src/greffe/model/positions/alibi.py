"""ALiBi: attention scores are lowered in proportion to distance."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.model.diagrams import KEY, QUERY, Diagram, Label, Panel
from greffe.model.positions.scheme import PositionScheme


class Alibi(PositionSpec):
    """A penalty on attention that grows with distance, with a different slope for each head."""

    is_pairwise: ClassVar[bool] = True
    kind: Literal["alibi"] = "alibi"

    def build(self, model: ModelSpec) -> AlibiPositions:
        return AlibiPositions(model.heads)


class AlibiPositions(PositionScheme):
    """Scores lowered by slope · distance; slopes fall geometrically from head to head.

    The distance is absolute, so that the scheme works in both reading directions.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def slopes(self) -> list[float]:
        """Return one slope per head: 2^(-8/heads), 2^(-16/heads), …, 2^-8."""
        return [2.0 ** (-8.0 * (head + 1) / self.heads) for head in range(self.heads)]

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        distances = (query_positions[:, :, None] - key_positions[:, None, :]).abs()
        # Not made on the device, which would wait for it.
        slopes = torch.tensor(self.slopes()).to(distances.device, non_blocking=True)
        return -distances[:, None] * slopes[:, None, None]

    def diagram(self, model: ModelSpec, positions: Tensor) -> Diagram:
        bias = self.bias(positions, positions)[0]
        panels = tuple(
            Panel(_head_label(head, slope), bias[head], QUERY, KEY)
            for head, slope in enumerate(self.slopes())
        )
        title = Label("alibi_positions", "ALiBi positions")
        meaning = Label("added_to_score", "added to the attention score")
        return Diagram(title, meaning, panels, low=float(bias.min()), high=0.0)


def _head_label(head: int, slope: float) -> Label:
    rounded = f"{slope:.3g}"
    text = f"head {head}, slope {rounded}"
    return Label("alibi_head", text, {"head": head, "slope": float(rounded)})
