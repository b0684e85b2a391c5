"""Views of a model as plain matrices. Knows nothing of how a matrix is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Panel:
    """One matrix [rows, columns] with its labels."""

    title: str
    values: Tensor
    row_label: str
    column_label: str


@dataclass(frozen=True)
class View:
    """Panels that belong together, on one scale from `low` to `high`."""

    title: str
    meaning: str
    """What a value means, for a color bar or a legend."""
    panels: tuple[Panel, ...]
    low: float
    high: float
    is_choice: bool = False
    """Whether the values are only 0 (no) or 1 (yes)."""
