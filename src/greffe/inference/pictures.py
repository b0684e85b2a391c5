"""A model's mask and positions as small matrices of plain numbers, for a page or a JSON file.

Takes them from the views; knows nothing of how a matrix is drawn.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from greffe.config.sections import ModelSpec
from greffe.config.spec import Spec
from greffe.inference.views import mask_view, positions_view
from greffe.model.positions.scheme import PositionScheme
from greffe.model.views import Label, Panel, View

MASK_TOKENS = 16
POSITIONS = 64
COLUMNS = 128
PANELS = 4
DIGITS = 4


class Matrix(Spec):
    """A matrix to be drawn, on a scale from `low` to `high`; values row by row."""

    title: Label
    meaning: Label
    row_label: Label
    column_label: Label
    low: float
    high: float
    is_choice: bool
    values: list[list[float]]


def pictures(spec: ModelSpec, causal: bool, scheme: PositionScheme | None = None) -> list[Matrix]:
    """Return the mask, then the positions, if any; `scheme` is that of a trained model."""
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
        title=_title(view, panel),
        meaning=view.meaning,
        row_label=panel.row_label,
        column_label=column_label,
        low=round(view.low, DIGITS),
        high=round(view.high, DIGITS),
        is_choice=view.is_choice,
        values=[[round(value, DIGITS) for value in row] for row in values.tolist()],
    )


def _title(view: View, panel: Panel) -> Label:
    if panel.title is None:
        return view.title
    return replace(panel.title, text=f"{view.title.text}: {panel.title.text}")


def _thinned(panel: Panel) -> tuple[Tensor, Label]:
    """Return at most COLUMNS columns, and a label that says so.

    Neighbors stay together: a sine without its cosine would show half of the encoding.
    """
    count = panel.values.shape[1]
    if count <= COLUMNS:
        return panel.values, panel.column_label
    pairs = torch.tensor(_spread(count // 2, COLUMNS // 2))
    columns = (2 * pairs[:, None] + torch.arange(2)).flatten()
    label = panel.column_label
    return panel.values[:, columns], Label(
        f"{label.id}_thinned",
        f"{label.text} ({len(columns)} of {count}, evenly spaced pairs)",
        {"drawn": len(columns), "total": count},
    )


def _spread(count: int, most: int) -> list[int]:
    """Return at most `most` of `count` indices in even steps, with the first and the last."""
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]
