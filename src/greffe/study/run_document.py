"""What a page shows of a plain run: facts, curves, parameters, pictures, samples, lineage.

Knows no model; whoever reads a run directory fills it in.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from greffe.config.spec import Spec
from greffe.study.document import Matrix, ParameterRow, Sample


class MetricPoint(Spec):
    """One logged value."""

    step: int
    value: float


class RunDocument(Spec):
    """One run."""

    name: str
    kind: Literal["language-model", "classifier", "linear"]
    status: Literal["training", "finished"]
    labels: list[str] = Field(default_factory=list)
    parent: str | None = None
    created: str
    command: list[str]
    versions: dict[str, str]
    hashes: dict[str, str]
    """Of its initial base, tokenizer, weights and data, by name."""
    result: dict[str, str | int | float | None] = Field(default_factory=dict)
    """How it ended, as its manifest says."""
    loss: list[MetricPoint] = Field(default_factory=list)
    """Of training."""
    valid: dict[str, list[MetricPoint]] = Field(default_factory=dict)
    """What each look at the validation part gave, by measure."""
    parameters: list[ParameterRow] = Field(default_factory=list)
    pictures: list[Matrix] = Field(default_factory=list)
    samples: list[Sample] = Field(default_factory=list)
    recipe: str = ""
    """As TOML."""
