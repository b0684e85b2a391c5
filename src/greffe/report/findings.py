"""Findings of the data check in the reader's language. The sentences are the doctor's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greffe.doctor.descriptions import describe
from greffe.doctor.finding import Finding, Severity
from greffe.report.catalog import Catalog, set_spaces
from greffe.report.report_table import Table, TableBuilder, cell

ORDER: tuple[Severity, ...] = ("serious", "warning", "note")


@dataclass(frozen=True)
class DescribedFinding:
    """A finding in the reader's language."""

    finding: Finding
    severity: str
    what: str
    advice: str


def described_findings(findings: Sequence[Finding], catalog: Catalog) -> list[DescribedFinding]:
    """Return descriptions of the findings, the serious first."""
    ranked = sorted(findings, key=lambda finding: ORDER.index(finding.severity))
    found = []
    for finding in ranked:
        texts = (set_spaces(text, catalog.language) for text in describe(finding, catalog.language))
        found.append(DescribedFinding(finding, catalog(f"severity.{finding.severity}"), *texts))
    return found


def findings_table(findings: Sequence[Finding], catalog: Catalog) -> Table:
    """Return one row per finding."""
    table = TableBuilder(described_findings(findings, catalog), catalog)
    table.add(
        "severity",
        lambda one: cell(one.severity, one.finding.severity, one.finding.kind, one.finding.where),
        *("severity", "kind", "where"),
        is_number=False,
    )
    table.text("what", lambda one: one.what)
    table.text("advice", lambda one: one.advice)
    table.count("count", lambda one: one.finding.count)
    table.count("total", lambda one: one.finding.total)
    table.text("example", lambda one: one.finding.example)
    return table.build("findings")
