"""Findings in the reader's language."""

from __future__ import annotations

import re

from greffe.report.catalog import load_catalog
from greffe.report.findings import described_findings
from greffe.study.document import StudyDocument


def test_findings_come_in_order_and_in_french_spaces(study: StudyDocument) -> None:
    serious, note = described_findings(study.findings, load_catalog("fr"))
    assert (serious.finding.kind, note.finding.kind) == ("leak", "imbalance")
    assert serious.severity == load_catalog("fr")("severity.serious")
    for text in (serious.what, serious.advice, note.what):
        assert not re.search(r" [;:!?%»]|« ", text)
