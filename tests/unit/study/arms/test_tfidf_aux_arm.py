"""TF-IDF with auxiliary texts."""

from __future__ import annotations

from dataclasses import replace

from greffe.pipelines.auxiliary import AuxiliaryTables
from greffe.run import RunDirectory
from greffe.study.arms import ArmOptions
from greffe.study.arms.tfidf_arm import TfidfArm
from greffe.study.arms.tfidf_aux_arm import TfidfAuxArm
from greffe.study.cell_inputs import CellInputs

BASE = RunDirectory("runs/base")


def planned(texts: int) -> list[TfidfAuxArm]:
    return TfidfAuxArm.planned(ArmOptions(base=BASE, auxiliary_texts=texts))


def test_it_is_planned_if_there_are_auxiliary_texts() -> None:
    assert planned(0) == []
    [arm] = planned(900)
    assert (arm.name, arm.run, arm.opponents) == ("tfidf+aux", None, ("tfidf", "pretrained"))
    assert arm.is_deterministic


def test_more_auxiliary_texts_take_longer() -> None:
    [few], [many] = planned(1), planned(50_000)
    assert many.weight(80) > few.weight(80) > TfidfArm("tfidf").weight(80)


def test_it_alone_depends_on_the_auxiliary_texts_but_not_on_their_order(inputs: CellInputs) -> None:
    def keys(arm: TfidfArm | TfidfAuxArm) -> list[str]:
        given = ({}, {"1": "x"}, {"1": "x", "2": "y"}, {"1": "y", "2": "x"})
        tables = (AuxiliaryTables(hashes=hashes) for hashes in given)
        return [str(arm.key_inputs(replace(inputs, auxiliary=table), 1)) for table in tables]

    without, one, both, swapped = keys(planned(9)[0])
    assert both == swapped and len({without, one, both}) == 3
    assert len(set(keys(TfidfArm("tfidf")))) == 1
