"""Whatever a check finds in a test is also described: its details must fill the sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from greffe.doctor.checks import CHECKS
from greffe.doctor.descriptions import describe
from greffe.doctor.finding import Finding


@pytest.fixture(autouse=True)
def described_findings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Describe every finding of the test in both languages."""
    findings: list[Finding] = []
    create = Finding.__init__

    def remember(self: Finding, **fields: Any) -> None:
        create(self, **fields)
        findings.append(self)

    monkeypatch.setattr(Finding, "__init__", remember)
    yield
    kinds = {kind for check in CHECKS.values() for kind in check.kinds}
    for finding in findings:
        assert finding.kind in kinds, f"no check declares {finding.kind!r}"
        for language in ("en", "fr"):
            assert all(describe(finding, language))  # type: ignore[arg-type]
