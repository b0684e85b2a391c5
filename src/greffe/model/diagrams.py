"""Diagrams of parts of a model: matrices with labels and a scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Label:
    """A title or an axis label: its id in the catalogs, and the same in English for a terminal."""

    id: str
    text: str
    """With its numbers filled in."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """For the placeholders of the catalogs' sentence."""


POSITION = Label("position", "position")
QUERY = Label("query_token", "query token")
KEY = Label("key_token", "key token")
DIMENSION = Label("vector_dimension", "dimension of the token vector")
ADDED_TO_EMBEDDING = Label("added_to_embedding", "added to the embedding")


@dataclass(frozen=True)
class Panel:
    """One matrix [rows, columns] with its labels."""

    title: Label | None
    """None if the diagram's title suffices."""
    values: Tensor
    row_label: Label
    column_label: Label


@dataclass(frozen=True)
class Diagram:
    """Panels that belong together, on one scale from `low` to `high`."""

    title: Label
    meaning: Label
    """What a value means, for a color bar or a legend."""
    panels: tuple[Panel, ...]
    low: float
    high: float
    is_choice: bool = False
    """Whether the values are only 0 (no) or 1 (yes)."""
