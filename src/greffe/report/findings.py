"""Findings as a reader sees them: sentence, advice, example. The sentences are the doctor's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greffe.report.cells import count_cell
from greffe.report.tables import Column, Table, cell, number_column, text_column
from greffe.report.words import Words, set_spaces
from greffe.study.doctor_words import describe
from greffe.study.document import Finding, Severity

ORDER: tuple[Severity, ...] = ("serious", "warning", "note")


@dataclass(frozen=True)
class SpokenFinding:
    """A finding in the reader's language."""

    finding: Finding
    severity: str
    what: str
    advice: str


def spoken_findings(findings: Sequence[Finding], words: Words) -> list[SpokenFinding]:
    """Findings in words, the serious first."""
    ranked = sorted(findings, key=lambda finding: ORDER.index(finding.severity))
    found = []
    for finding in ranked:
        said = (set_spaces(text, words.language) for text in describe(finding, words.language))
        found.append(SpokenFinding(finding, words(f"severity.{finding.severity}"), *said))
    return found


def _raw(finding: Finding) -> tuple[str, str, str]:
    return finding.severity, finding.kind, finding.where


def findings_table(findings: Sequence[Finding], words: Words) -> Table:
    """One line a finding."""
    rows = [
        [
            cell(spoken.severity, *_raw(spoken.finding)),
            cell(spoken.what),
            cell(spoken.advice),
            count_cell(words, spoken.finding.count),
            count_cell(words, spoken.finding.total),
            cell(spoken.finding.example),
        ]
        for spoken in spoken_findings(findings, words)
    ]
    columns = [
        Column(words("column.severity"), ("severity", "kind", "where"), is_number=False),
        text_column(words("column.what"), "what"),
        text_column(words("column.advice"), "advice"),
        number_column(words("column.count"), "count"),
        number_column(words("column.of"), "total"),
        text_column(words("column.example"), "example"),
    ]
    return Table("findings", words("table.findings"), columns, rows)
