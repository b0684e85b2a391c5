"""Findings as a reader sees them: sentence, advice, example. The sentences are the doctor's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greffe.doctor.descriptions import describe
from greffe.doctor.finding import Finding, Severity
from greffe.report.catalog import Catalog, set_spaces
from greffe.report.report_table import Column, Table, cell, number_column, text_column
from greffe.report.table_cells import count_cell

ORDER: tuple[Severity, ...] = ("serious", "warning", "note")


@dataclass(frozen=True)
class SpokenFinding:
    """A finding in the reader's language."""

    finding: Finding
    severity: str
    what: str
    advice: str


def spoken_findings(findings: Sequence[Finding], catalog: Catalog) -> list[SpokenFinding]:
    """Findings in words, the serious first."""
    ranked = sorted(findings, key=lambda finding: ORDER.index(finding.severity))
    found = []
    for finding in ranked:
        said = (set_spaces(text, catalog.language) for text in describe(finding, catalog.language))
        found.append(SpokenFinding(finding, catalog(f"severity.{finding.severity}"), *said))
    return found


def _raw(finding: Finding) -> tuple[str, str, str]:
    return finding.severity, finding.kind, finding.where


def findings_table(findings: Sequence[Finding], catalog: Catalog) -> Table:
    """One line a finding."""
    rows = [
        [
            cell(spoken.severity, *_raw(spoken.finding)),
            cell(spoken.what),
            cell(spoken.advice),
            count_cell(catalog, spoken.finding.count),
            count_cell(catalog, spoken.finding.total),
            cell(spoken.finding.example),
        ]
        for spoken in spoken_findings(findings, catalog)
    ]
    columns = [
        Column(catalog("column.severity"), ("severity", "kind", "where"), is_number=False),
        text_column(catalog("column.what"), "what"),
        text_column(catalog("column.advice"), "advice"),
        number_column(catalog("column.count"), "count"),
        number_column(catalog("column.of"), "total"),
        text_column(catalog("column.example"), "example"),
    ]
    return Table("findings", catalog("table.findings"), columns, rows)
