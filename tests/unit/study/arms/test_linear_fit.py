"""Linear arms: which of them leave a run behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from greffe.run import RunDirectory
from greffe.study.arms.stacked_arm import StackedArm
from greffe.study.arms.tfidf_arm import TfidfArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.folder import CellResult


def test_only_an_arm_that_keeps_its_run_writes_one_and_only_of_all_labels(
    inputs: CellInputs,
    fresh_run: Callable[..., RunDirectory],
    compute: Callable[..., CellResult],
    tmp_path: Path,
) -> None:
    stacked = StackedArm("stacked", fresh_run("base"))
    compute(TfidfArm("tfidf"))
    compute(stacked, labels=20)
    assert not (tmp_path / "tfidf").exists() and not (tmp_path / "stacked").exists()
    compute(stacked)
    kept = RunDirectory.open(tmp_path / "stacked").manifest()
    assert (kept.kind, kept.labels) == ("linear", inputs.parts.labels)
