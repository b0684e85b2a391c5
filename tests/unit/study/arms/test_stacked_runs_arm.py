"""The stacked arm with class scores of feature runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from greffe.config.option_groups import flat_keywords
from greffe.config.options import Training
from greffe.data.tables import Example
from greffe.pipelines import linear as linear_module
from greffe.pipelines.provenance import FeatureRuns
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.study.arms import ArmOptions, Cell, TrainedArm
from greffe.study.arms.stacked_runs_arm import StackedRunsArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.cells import cell_key
from greffe.study.parts import part_data
from greffe.study.plan import plan_arms

BASE, OTHER = RunDirectory("runs/base"), RunDirectory("runs/other")
linear = flat_keywords(linear_module.linear)


def reviews(count: int, seed: int) -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(count, seed=seed)]


def test_it_is_planned_if_there_are_feature_runs() -> None:
    assert StackedRunsArm.planned(ArmOptions(base=BASE)) == []
    [arm] = StackedRunsArm.planned(ArmOptions(base=BASE, feature_runs=[OTHER, BASE]))
    assert (arm.name, arm.run, arm.feature_runs) == ("stacked+runs", BASE, (OTHER, BASE))
    assert arm.opponents == ("tfidf", "stacked") and arm.is_deterministic


def test_it_alone_depends_on_the_feature_runs(
    fresh_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    base = fresh_run("base")
    parts = part_data(reviews(60, 1), None, None, seed=0)

    def keys(*feature_runs: RunDirectory) -> dict[str, str]:
        inputs = CellInputs(parts, Training(), FeatureRuns(feature_runs))
        return {
            arm.name: cell_key(Cell(arm, parts.labelled, 1, is_full=True), inputs)
            for arm in plan_arms(ArmOptions(base=base, feature_runs=feature_runs))
            if isinstance(arm, TrainedArm)
        }

    first, second = (linear(reviews(30, seed), tmp_path / str(seed)) for seed in (11, 12))
    without, one, other, both, swapped = (
        keys(*given) for given in ((), (first,), (second,), (first, second), (second, first))
    )
    stacked_runs = [found.pop("stacked+runs") for found in (one, other, both, swapped)]
    assert len({*stacked_runs, *without.values()}) == len(stacked_runs) + len(without)
    assert one == other == both == swapped == without
