"""What a check of labelled data found."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from greffe.config.spec import Spec

PartName = Literal["train", "valid", "test"]
Severity = Literal["serious", "warning", "note"]


class Finding(Spec):
    """Something about the data or the results that a reader must know."""

    kind: str
    """One of the kinds that a check in `greffe.doctor.checks` declares."""
    severity: Severity
    count: int
    total: int
    where: str
    """Which part or parts: `train`, `train and test`, an arm's name."""
    example: str
    detail: dict[str, str | int | float] = Field(default_factory=dict)
    """Further values for its description."""
