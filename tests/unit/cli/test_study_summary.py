"""A study in the terminal: which tables, with which numbers."""

from __future__ import annotations

import pytest
from rich.table import Table
from tests.builders import study_document

from greffe.cli.study_summary import study_tables
from greffe.study.document import StudyDocument


def cells(table: Table) -> list[list[str]]:
    """The rows of a table."""
    columns = [[str(text) for text in column.cells] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.fixture
def study() -> StudyDocument:
    """A study whose arms all have a label curve."""
    made = study_document()
    assert made.label_curves is not None
    curves = {point.arm for point in made.label_curves.points}
    return made.model_copy(update={"arms": [arm for arm in made.arms if arm.name in curves]})


def test_arms_comparisons_and_labels(study: StudyDocument) -> None:
    arms, comparisons, labels = map(cells, study_tables(study))
    assert [row[0] for row in arms] == [arm.name for arm in study.arms]
    assert arms[0][1:3] == ["81.3%", "79.3 to 83.3"] and arms[0][-1] == "81.9%"
    assert comparisons[1][:3] == ["pretrained - tfidf", "+1.7", "-0.5 to +3.9"]
    assert [row[-1] for row in comparisons] == ["yes", "no", "yes", "yes"]
    assert [labels[0][at] for at in (0, 1, -1)] == ["pretrained", "66.0%", "81.3%"]


def test_what_was_not_measured_has_no_table_and_no_column(study: StudyDocument) -> None:
    plain = study.model_copy(
        update={
            "label_curves": None,
            "arms": [arm.model_copy(update={"accuracy_everywhere": None}) for arm in study.arms],
            "data": study.data.model_copy(update={"repeated": 0}),
        }
    )
    arms, _ = study_tables(plain)
    assert len(arms.columns) == len(study_tables(study)[0].columns) - 1
