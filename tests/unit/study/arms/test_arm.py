"""What arms and their cells have in common, and the registry."""

from __future__ import annotations

import pytest

from greffe.study.arms import ARMS, Cell
from greffe.study.arms.arm import register
from greffe.study.arms.majority_arm import MajorityArm
from greffe.study.arms.tfidf_arm import TfidfArm


def test_a_cell_is_named_after_its_arm_labels_and_seed() -> None:
    arm = TfidfArm("tfidf")
    assert Cell(arm, 80, 3, is_full=True).name == "tfidf-all-3"
    assert Cell(arm, 20, 3, is_full=False).name == "tfidf-20-3"


def test_a_cell_weighs_more_with_more_labels_unless_nothing_is_trained() -> None:
    def weights(arm: TfidfArm | MajorityArm) -> list[float]:
        return [Cell(arm, labels, 1, is_full=False).weight for labels in (10, 100)]

    assert weights(TfidfArm("tfidf")) == [2, 11]
    assert weights(MajorityArm("majority")) == [1, 1]


def test_a_kind_is_registered_once() -> None:
    before = dict(ARMS)
    with pytest.raises(ValueError, match="two arms of kind 'tfidf'"):
        register(TfidfArm)
    assert before == ARMS
