"""The stacked arm: features of the untouched base beside TF-IDF."""

from __future__ import annotations

from collections.abc import Callable

from greffe.run import RunDirectory
from greffe.study.arms import ArmOptions
from greffe.study.arms.stacked_arm import StackedArm
from greffe.study.arms.tfidf_arm import TfidfArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.folder import CellResult


def test_it_depends_on_its_base_and_not_on_feature_runs(
    inputs: CellInputs, fresh_run: Callable[..., RunDirectory]
) -> None:
    base = fresh_run("base")
    [arm] = StackedArm.planned(ArmOptions(base=base, feature_runs=[fresh_run("other")]))
    assert (arm.name, arm.run, arm.feature_runs) == ("stacked", base, ())
    assert arm.opponents == ("tfidf", "pretrained")
    assert inputs.weights_hash(base) in arm.key_inputs(inputs, 1)


def test_it_has_more_features_than_tfidf(
    fresh_run: Callable[..., RunDirectory], compute: Callable[..., CellResult]
) -> None:
    stacked, tfidf = compute(StackedArm("stacked", fresh_run("base"))), compute(TfidfArm("tfidf"))
    assert stacked.parameters > tfidf.parameters
