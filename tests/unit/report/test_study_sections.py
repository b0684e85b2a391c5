"""Sections on results: what is drawn of a study, and what is left out."""

from __future__ import annotations

from greffe.report.blocks import Figure, SideBySide
from greffe.report.catalog import load_catalog
from greffe.report.study_sections import (
    arm_kinds,
    arms_section,
    calibration_section,
    confusion_section,
    cost_section,
    epochs_section,
    labels_section,
)
from greffe.study.document import StudyDocument

ENGLISH = load_catalog("en")


def test_two_arms_of_one_kind_look_different(study: StudyDocument) -> None:
    again = study.arms[0].model_copy(update={"name": "other"})
    kinds = arm_kinds(study.model_copy(update={"arms": [*study.arms, again]}))
    assert kinds["pretrained"] == "pretrained" and kinds["other"] != kinds["pretrained"]
    assert len(set(kinds.values())) == len(kinds)


def test_comparisons_are_drawn_only_if_there_are_some(study: StudyDocument) -> None:
    alone = study.model_copy(update={"comparisons": []})
    drawn, plain = (
        [block.ident for block in arms_section(one, ENGLISH).blocks if isinstance(block, Figure)]
        for one in (study, alone)
    )
    assert (drawn, plain) == (["arms-chart", "comparisons-chart"], ["arms-chart"])


def test_a_constant_arm_has_no_confusion_matrix(study: StudyDocument) -> None:
    section = confusion_section(study, ENGLISH)
    assert section is not None
    (block,) = section.blocks
    assert isinstance(block, SideBySide)
    assert [figure.ident for figure in block.figures] == [
        f"confusion-{number}" for number in range(1, len(study.arms))
    ]
    titles = [figure.title for figure in block.figures]
    assert not any(ENGLISH("arms.majority") in title for title in titles)
    assert ENGLISH.percent(0.813) in block.figures[0].caption


def test_savings_follow_the_label_curves_if_there_are_some(study: StudyDocument) -> None:
    assert study.label_curves is not None
    without = study.model_copy(
        update={"label_curves": study.label_curves.model_copy(update={"savings": []})}
    )
    sections = [labels_section(one, ENGLISH) for one in (study, without)]
    assert [len(section.blocks) for section in sections if section] == [2, 1]


def test_sections_without_data_are_none(bare_study: StudyDocument) -> None:
    for make in (epochs_section, labels_section, confusion_section, calibration_section):
        assert make(bare_study, ENGLISH) is None


def test_every_arm_has_a_bar_of_its_time(study: StudyDocument) -> None:
    chart = cost_section(study, ENGLISH).blocks[0]
    assert isinstance(chart, Figure)
    assert len(chart.table.rows) == len(study.arms)
    assert ENGLISH.duration(95.4) in chart.svg and ENGLISH.duration(3.2) in chart.svg
