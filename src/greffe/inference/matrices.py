"""A model's mask and positions as small matrices of plain numbers, for reports and JSON."""

from __future__ import annotations

from dataclasses import replace

import torch
from pydantic import ConfigDict
from torch import Tensor

from greffe.config.sections import ModelSpec
from greffe.config.spec import Spec
from greffe.inference.model_diagrams import mask_diagram, positions_diagram
from greffe.model.diagrams import Diagram, Label, Panel
from greffe.model.positions.scheme import PositionScheme

MASK_TOKENS = 16
POSITIONS = 64
COLUMNS = 128
PANELS = 4
DIGITS = 4


class Matrix(Spec):
    """A matrix to be drawn, on a scale from `low` to `high`; values row by row."""

    # Label is a dataclass, whose docstrings pydantic reads for the schema of report.json.
    model_config = ConfigDict(use_attribute_docstrings=True)

    title: Label
    meaning: Label
    row_label: Label
    column_label: Label
    low: float
    high: float
    is_choice: bool
    values: list[list[float]]


def model_matrices(
    spec: ModelSpec, causal: bool, scheme: PositionScheme | None = None
) -> list[Matrix]:
    """Return the mask, then the positions, if any; `scheme` is that of a trained model."""
    positions = positions_diagram(spec, min(POSITIONS, spec.context), scheme)
    mask = mask_diagram(causal, min(MASK_TOKENS, spec.context))
    return [
        _matrix(diagram, diagram.panels[index])
        for diagram in (mask, positions)
        for index in _spread(len(diagram.panels), PANELS)
    ]


def _matrix(diagram: Diagram, panel: Panel) -> Matrix:
    values, column_label = _thinned(panel)
    return Matrix(
        title=_title(diagram, panel),
        meaning=diagram.meaning,
        row_label=panel.row_label,
        column_label=column_label,
        low=round(diagram.low, DIGITS),
        high=round(diagram.high, DIGITS),
        is_choice=diagram.is_choice,
        values=[[round(value, DIGITS) for value in row] for row in values.tolist()],
    )


def _title(diagram: Diagram, panel: Panel) -> Label:
    if panel.title is None:
        return diagram.title
    return replace(panel.title, text=f"{diagram.title.text}: {panel.title.text}")


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
    return [round(index * (count - 1) / (most - 1)) for index in range(most)]
