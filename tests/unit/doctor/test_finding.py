"""Findings: they survive JSON with the types that their sentences depend on."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from greffe.doctor.finding import Finding

FIELDS = {"kind": "leak", "count": 1, "total": 2, "where": "train and test", "example": "un"}


def test_counts_and_fractions_stay_what_they_are() -> None:
    finding = Finding(**FIELDS, severity="note", detail={"texts": 1, "rate": 1.0, "label": "1"})  # type: ignore[arg-type]
    again = Finding.model_validate_json(finding.model_dump_json())
    assert again == finding
    assert [type(value) for value in again.detail.values()] == [int, float, str]


def test_an_unknown_severity_is_an_error() -> None:
    with pytest.raises(ValidationError, match="severity"):
        Finding(**FIELDS, severity="fatal")  # type: ignore[arg-type]
