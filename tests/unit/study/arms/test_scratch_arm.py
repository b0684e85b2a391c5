"""The arm from scratch: the base's architecture, none of its weights."""

from __future__ import annotations

from collections.abc import Callable

from greffe.run import RunDirectory
from greffe.study.arms import ArmOptions
from greffe.study.arms.pretrained_arm import PretrainedArm
from greffe.study.arms.scratch_arm import ScratchArm
from greffe.study.cell_inputs import CellInputs


def test_its_result_depends_on_all_of_the_base_but_its_weights(
    fresh_run: Callable[..., RunDirectory], inputs: CellInputs
) -> None:
    base = fresh_run("base")
    [scratch] = ScratchArm.planned(ArmOptions(base=base, others={"other": base}))
    assert (scratch.name, scratch.run, scratch.opponents) == ("scratch", base, ())
    pretrained = PretrainedArm("pretrained", base)
    weights, *rest = pretrained.key_inputs(inputs, 1)
    assert weights == inputs.weights_hash(base)
    assert scratch.key_inputs(inputs, 1) == [None, *rest]
