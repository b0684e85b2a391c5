"""Tables of results: raw values for programs, the reader's language for readers."""

from __future__ import annotations

import pytest
from tests.unit.report.parsed_page import read_csv

from greffe.report.catalog import load_catalog
from greffe.report.report_table import Table
from greffe.report.result_tables import (
    MOST_CONFUSIONS,
    arm_kinds_table,
    arms_table,
    comparisons_table,
    confusion_table,
    cost_table,
    differences_table,
    epochs_table,
    frequent_confusions,
    has_many_classes,
    labels_table,
    savings_table,
)
from greffe.report.study_sections import confusion_section
from greffe.report.verdict import arm_names
from greffe.study.document import StudyDocument

ENGLISH = load_catalog("en")
FRENCH = load_catalog("fr")


def test_arms(study: StudyDocument) -> None:
    first = read_csv(arms_table(study, ENGLISH))[0]
    assert (first["arm"], first["kind"]) == ("pretrained", "pretrained")
    assert float(first["accuracy"]) == pytest.approx(0.813)
    assert float(first["accuracy_high"]) == pytest.approx(0.833)
    assert float(first["accuracy_everywhere"]) == pytest.approx(0.819)
    assert [one.shown for one in arms_table(study, FRENCH).rows[0]][:3] == [
        FRENCH("arms.pretrained"),
        FRENCH.percent(0.813),
        FRENCH.interval_percent(0.793, 0.833),
    ]


def test_the_column_for_repeated_texts_is_there_only_if_some_are(bare_study: StudyDocument) -> None:
    table = arms_table(bare_study, ENGLISH)
    assert "accuracy_everywhere" not in [key for column in table.columns for key in column.keys]


def test_feature_runs_have_a_column_only_if_there_are_some(
    study: StudyDocument, stacked_runs_study: StudyDocument
) -> None:
    assert "feature_runs" not in read_csv(arm_kinds_table(study, ENGLISH))[0]
    rows = {
        row["arm"]: row["feature_runs"]
        for row in read_csv(arm_kinds_table(stacked_runs_study, ENGLISH))
    }
    assert rows["stacked+runs"] == "runs/features" and rows["stacked"] == ""


def test_comparisons(study: StudyDocument) -> None:
    rows = read_csv(comparisons_table(study, ENGLISH))
    assert [(row["first"], row["second"], row["is_significant"]) for row in rows] == [
        ("pretrained", "scratch", "True"),
        ("pretrained", "tfidf", "False"),
        ("stacked", "tfidf", "True"),
        ("stacked", "pretrained", "True"),
    ]
    shown = [one.shown for one in comparisons_table(study, ENGLISH).rows[1]]
    names = {"first": ENGLISH("arms.pretrained"), "second": ENGLISH("arms.tfidf")}
    assert shown[:3] == [ENGLISH("comparison.name", **names), "+1.7", "−0.5 to +3.9"]
    assert len(read_csv(differences_table(study, ENGLISH))[0]["by_seed"].split()) == 8


def test_curves(study: StudyDocument) -> None:
    epochs = read_csv(epochs_table(study.arms, arm_names(ENGLISH, study), ENGLISH))
    assert [row["arm"] for row in epochs] == ["pretrained"] * 6 + ["scratch"] * 6
    labels = read_csv(labels_table(study, ENGLISH))
    assert [row["labels"] for row in labels[:6]] == ["50", "100", "200", "400", "800", "1600"]
    last = savings_table(study, ENGLISH).rows[-1]
    beyond = ENGLISH("saving.beyond", most="1,600")
    assert [one.shown for one in last[3:]] == [beyond, ENGLISH.interval("1,300", beyond)]
    assert last[3].values == (None,)


def test_confusion_has_a_line_for_each_pair_of_classes(study: StudyDocument) -> None:
    rows = read_csv(confusion_table(study, ENGLISH))
    assert len(rows) == 4 * len(study.arms)
    only = read_csv(confusion_table(study, ENGLISH, study.arms[1]))
    assert {row["arm"] for row in only} == {"scratch"}
    assert sum(float(row["fraction"]) for row in only[:2]) == pytest.approx(1)


def test_of_many_classes_only_confusions_that_occur_are_listed(study: StudyDocument) -> None:
    labels = [f"class {number}" for number in range(30)]
    matrix = [[0.0] * 30 for _ in labels]
    for number in range(30):
        matrix[number][number] = 5.0
        matrix[number][number - 1] = number / 10
    arm = study.arms[0].model_copy(update={"confusion": matrix})
    data = study.data.model_copy(update={"labels": labels})
    large = study.model_copy(update={"arms": [arm], "data": data})
    assert has_many_classes(large) and not has_many_classes(study)
    assert len(read_csv(confusion_table(large, ENGLISH))) == 30 + 29
    rows = read_csv(frequent_confusions(large, ENGLISH, [arm]))
    assert len(rows) == MOST_CONFUSIONS
    assert (rows[0]["label"], rows[0]["prediction"]) == ("class 29", "class 28")
    section = confusion_section(large, ENGLISH)
    assert section is not None and section.ident == "confusions"
    assert [type(block) for block in section.blocks] == [Table]


def test_costs_that_are_not_known_are_dashes(study: StudyDocument) -> None:
    table = cost_table(study, ENGLISH)
    tfidf = next(row for row in table.rows if row[0].values == ("tfidf",))
    assert [one.shown for one in tfidf] == [
        *(ENGLISH("arms.tfidf"), "3.2\u00a0sec", "–", "–", "312,004", "–", "–")
    ]
