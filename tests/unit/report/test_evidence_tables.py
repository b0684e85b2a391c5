"""Tables of evidence: matrices, hashes, parameters, findings."""

from __future__ import annotations

import re

import pytest
from tests.unit.report.parsed_page import read_csv

from greffe.report.catalog import load_catalog
from greffe.report.evidence_tables import (
    LARGEST_SIDE,
    described_findings,
    hashes_table,
    matrix_table,
    parameters_table,
)
from greffe.report.number_format import Language
from greffe.study.document import StudyDocument

ENGLISH = load_catalog("en")


def test_a_large_matrix_is_thinned_and_says_so(study: StudyDocument) -> None:
    mask, positions = study.pictures
    assert len(matrix_table(mask, ENGLISH).rows) == 16
    table = matrix_table(positions, ENGLISH)
    assert len(table.rows) <= LARGEST_SIDE
    assert len(table.columns) <= LARGEST_SIDE + 1
    assert ENGLISH("figure.picture.thinned", rows=3, columns=6) in table.title
    assert table.rows[1][1].values == (positions.values[3][0],)


def test_only_the_pretrained_arm_begins_with_the_base(study: StudyDocument) -> None:
    rows = read_csv(hashes_table(study, ENGLISH))
    assert {row["arm"]: row["is_base"] for row in rows} == {
        "pretrained": "True",
        "scratch": "False",
    }
    base = study.proof.base_hash
    for hashes in ([base, "0" * 64], ["0" * 64, "0" * 64]):
        broken = study.proof.model_copy(update={"initial_hashes": {"pretrained": hashes}})
        changed = study.model_copy(update={"proof": broken})
        assert read_csv(hashes_table(changed, ENGLISH))[0]["is_base"] == "False"


@pytest.mark.parametrize(
    ("language", "formula"), [("en", "4 × 242,000"), ("fr", "4 × 242\u202f000")]
)
def test_parameters(study: StudyDocument, language: Language, formula: str) -> None:
    catalog = load_catalog(language)
    table = parameters_table(study.parameters, "title", catalog, with_run=False)
    assert [one.shown for one in table.rows[2][:2]] == [catalog("part.all_layers"), formula]
    assert catalog("formula.tied") in table.rows[6][1].shown
    assert table.emphasised == {4, 7}
    rows = read_csv(parameters_table(study.parameters, "title", catalog, with_run=True))
    assert {row["run"] for row in rows} == {"runs/base"}
    assert rows[-1]["block"] == "base+classification_head"


def test_findings_come_in_order_and_in_french_spaces(study: StudyDocument) -> None:
    serious, note = described_findings(study.findings, load_catalog("fr"))
    assert (serious.finding.kind, note.finding.kind) == ("leak", "imbalance")
    assert serious.severity == load_catalog("fr")("severity.serious")
    for text in (serious.what, serious.advice, note.what):
        assert not re.search(r" [;:!?%»]|« ", text)
