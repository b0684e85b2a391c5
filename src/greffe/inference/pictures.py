"""A model's mask and positions as small matrices of plain numbers, for a page or a JSON file.

Takes them from the views; knows nothing of how a matrix is drawn.
"""

from __future__ import annotations

import torch
from torch import Tensor

from greffe.config.sections import ModelSpec
from greffe.config.spec import Spec
from greffe.inference.views import mask_view, positions_view
from greffe.model.positions.scheme import PositionScheme
from greffe.model.views import Panel, View

MASK_TOKENS = 16
POSITIONS = 64
COLUMNS = 128
PANELS = 4
DIGITS = 4


class Matrix(Spec):
    """A matrix to be drawn, on a scale from `low` to `high`; values row by row."""

    title: str
    meaning: str
    row_label: str
    column_label: str
    low: float
    high: float
    is_choice: bool
    values: list[list[float]]


def pictures(spec: ModelSpec, causal: bool, scheme: PositionScheme | None = None) -> list[Matrix]:
    """The mask, then the positions, if there are any; `scheme` is a trained model's own."""
    positions = positions_view(spec, min(POSITIONS, spec.context), scheme)
    mask = mask_view(causal, min(MASK_TOKENS, spec.context))
    return [
        _picture(view, view.panels[place])
        for view in (mask, positions)
        for place in _spread(len(view.panels), PANELS)
    ]


def _picture(view: View, panel: Panel) -> Matrix:
    values, column_label = _thinned(panel)
    return Matrix(
        title=f"{view.title}: {panel.title}" if panel.title else view.title,
        meaning=view.meaning,
        row_label=panel.row_label,
        column_label=column_label,
        low=round(view.low, DIGITS),
        high=round(view.high, DIGITS),
        is_choice=view.is_choice,
        values=[[round(value, DIGITS) for value in row] for row in values.tolist()],
    )


def _thinned(panel: Panel) -> tuple[Tensor, str]:
    """At most COLUMNS columns, and a label that says so.

    Neighbours stay together: a sine without its cosine would show half of the encoding.
    """
    count = panel.values.shape[1]
    if count <= COLUMNS:
        return panel.values, panel.column_label
    pairs = torch.tensor(_spread(count // 2, COLUMNS // 2))
    columns = (2 * pairs[:, None] + torch.arange(2)).flatten()
    label = f"{panel.column_label} ({len(columns)} of {count}, evenly spread in pairs)"
    return panel.values[:, columns], label


def _spread(count: int, most: int) -> list[int]:
    """At most `most` of `count` places, first and last among them, in even steps."""
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]
