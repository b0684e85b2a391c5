"""Cells: computed once, found again by the hash of their inputs, checked for their transfer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pytest

from greffe.config.options import Training
from greffe.data.tables import Example
from greffe.errors import CorruptError, DivergedError, InterruptedRunError, MismatchError
from greffe.pipelines.jobs import SideBySide
from greffe.progress import quiet
from greffe.run import RUN_FILE, RunDirectory
from greffe.storage import read_json, write_json
from greffe.study import cells
from greffe.study.arms import ArmOptions, Cell, TrainedArm
from greffe.study.arms.pretrained_arm import PretrainedArm
from greffe.study.arms.scratch_arm import ScratchArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.cells import (
    best_cell,
    cell_key,
    check_pairing,
    check_transfer,
    compute_cells,
)
from greffe.study.folder import CellResult, StudyDirectory
from greffe.study.parts import Parts
from greffe.training.workers import Task

SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class ToyArm(TrainedArm):
    """Validates best with seed 2 and writes something like a run."""

    kind = "toy"
    weight_per_label = 1.0

    setting: str = "plain"
    equal: bool = False
    computed: list[str] = field(default_factory=list, compare=False)
    stops_at: str = field(default="", compare=False)
    diverges_at: str = field(default="", compare=False)

    @classmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
        return [cls(cls.kind)]

    def key_inputs(self, inputs: CellInputs, seed: int) -> list[object]:
        return [self.setting]

    def compute(self, cell: Cell, inputs: CellInputs, folder: Path, *, resume: bool) -> CellResult:
        if cell.name == self.stops_at:
            raise InterruptedRunError("stop")
        if cell.name == self.diverges_at:
            raise DivergedError("Weights are not finite at step 3.", hint="--overwrite")
        self.computed.append(cell.name)
        folder.mkdir(parents=True)
        (folder / RUN_FILE).write_text("{}")
        return CellResult(
            probabilities=[[1.0, 0.0]] * 5,
            validation=0.9 if cell.seed == 2 and not self.equal else 0.8,
            seconds=1.0,
        )


@pytest.fixture
def inputs() -> CellInputs:
    pool = [Example(f"texte {n}", "ab"[n % 2]) for n in range(30)]
    parts = Parts(pool[:20], pool[20:25], pool[25:], ["a", "b"], [False] * 5, {})
    return CellInputs(parts, Training())


@pytest.fixture
def compute(tmp_path: Path, inputs: CellInputs) -> Callable[..., dict[Cell, CellResult]]:
    def run(arm: ToyArm, *, keep_runs: bool = False, **how: Any) -> dict[Cell, CellResult]:
        planned = [Cell(arm, 20, seed, is_full=True) for seed in SEEDS]
        with quiet():
            keys = {cell: cell_key(cell, inputs) for cell in planned}
            study = StudyDirectory(tmp_path)
            return compute_cells(study, inputs, keys, keep_runs=keep_runs, **how)

    return run


def runs_in(folder: Path) -> set[str]:
    return {path.name for path in (folder / "runs").iterdir()}


def test_a_result_with_the_same_inputs_is_found_again(compute: Callable[..., object]) -> None:
    first, again, changed = ToyArm("toy"), ToyArm("toy"), ToyArm("toy", setting="other")
    assert compute(first) == compute(again)
    assert first.computed == ["toy-all-1", "toy-all-2", "toy-all-3"]
    assert again.computed == []
    compute(changed)
    assert changed.computed == first.computed


@pytest.mark.parametrize("rows", [[], [[1.0, 0.0]], [[1.0, 0.0, 0.0]] * 5, [[1.0]] * 5])
def test_a_result_about_other_texts_or_classes_is_an_error(
    compute: Callable[..., object], tmp_path: Path, rows: list[list[float]]
) -> None:
    compute(ToyArm("toy"))
    path = tmp_path / "cells" / "toy-all-2.json"
    content = read_json(path, "a cell")
    content["result"]["probabilities"] = rows
    write_json(path, content)
    with pytest.raises(CorruptError, match=r"toy-all-2\.json is damaged"):
        compute(ToyArm("toy"))


def test_only_the_best_run_is_kept_unless_all_are_asked_for(
    compute: Callable[..., object], tmp_path: Path
) -> None:
    compute(ToyArm("toy"))
    assert runs_in(tmp_path) == {"toy-all-2"}
    compute(ToyArm("toy", setting="other"), keep_runs=True)
    assert runs_in(tmp_path) == {"toy-all-1", "toy-all-2", "toy-all-3"}


def test_the_order_in_which_cells_are_ready_changes_nothing(
    compute: Callable[..., dict[Cell, CellResult]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def backwards(
        function: Callable[..., CellResult], inputs: CellInputs, tasks: list[Task[Any]], **_: Any
    ) -> Iterator[tuple[Any, CellResult]]:
        for task in reversed(tasks):
            yield task.item, function(inputs, task.item)

    monkeypatch.setattr(cells, "run_side_by_side", backwards)
    results = compute(ToyArm("toy", equal=True), side_by_side=SideBySide(2, 1))
    assert [cell.seed for cell in results] == list(SEEDS)
    assert runs_in(tmp_path) == {"toy-all-1"}  # the first of equally good ones


def test_what_was_done_before_a_stop_is_not_lost(compute: Callable[..., object]) -> None:
    with pytest.raises(InterruptedRunError, match="2 of 3 trainings are done"):
        compute(ToyArm("toy", stops_at="toy-all-3"))
    rest = ToyArm("toy")
    compute(rest)
    assert rest.computed == ["toy-all-3"]


def test_a_training_that_diverges_is_named_and_the_others_are_kept(
    compute: Callable[..., object],
) -> None:
    with pytest.raises(DivergedError, match="toy, seed 3: Weights are not finite") as caught:
        compute(ToyArm("toy", diverges_at="toy-all-3"))
    assert "train.lr" in str(caught.value) and "--overwrite" not in str(caught.value)
    rest = ToyArm("toy")
    compute(rest)
    assert rest.computed == ["toy-all-3"]


def test_the_key_depends_on_every_input(inputs: CellInputs) -> None:
    cell = Cell(ToyArm("toy"), 20, 1, is_full=True)
    key = cell_key(cell, inputs)
    renamed = replace(cell, arm=ToyArm("another name"))
    assert cell_key(renamed, inputs) == key
    others = [
        (replace(cell, labels=10, is_full=False), inputs),
        (replace(cell, arm=ToyArm("toy", setting="other")), inputs),
        (cell, CellInputs(replace(inputs.parts, test=inputs.parts.test[1:]), Training())),
        (cell, CellInputs(replace(inputs.parts, valid=inputs.parts.valid[1:]), Training())),
    ]
    keys = {cell_key(*other) for other in others}
    assert len(keys) == len(others) and key not in keys


def test_the_first_of_equally_good_cells_is_the_best() -> None:
    arm = ToyArm("toy")
    full = [Cell(arm, 20, seed, is_full=True) for seed in SEEDS]
    few = Cell(arm, 10, 1, is_full=False)
    results = {
        cell: CellResult(probabilities=[], validation=value, seconds=0.0)
        for cell, value in zip([*full, few], [0.5, 0.7, 0.7, 0.9], strict=True)
    }
    assert best_cell(arm, results) == full[1]
    assert best_cell(ToyArm("nobody"), results) is None


RUN = RunDirectory("runs/base")


def result(base: str, head: str = "head") -> CellResult:
    return CellResult(
        probabilities=[], validation=None, seconds=0.0, initial_base=base, initial_head=head
    )


def test_an_arm_has_the_pretrained_base_exactly_if_it_should() -> None:
    pretrained = Cell(PretrainedArm("pretrained", RUN), 20, 1, is_full=True)
    scratch = Cell(ScratchArm("scratch", RUN), 20, 1, is_full=True)
    check_transfer(pretrained, result("base"), "base")
    check_transfer(scratch, result("random"), "base")
    with pytest.raises(MismatchError, match="not in the model at its first step"):
        check_transfer(pretrained, result("random"), "base")
    with pytest.raises(MismatchError, match="in the model from scratch too"):
        check_transfer(scratch, result("base"), "base")


def test_paired_arms_start_with_the_same_head() -> None:
    names = ("pretrained", "scratch")
    arms = [PretrainedArm("pretrained", RUN), ScratchArm("scratch", RUN)]
    pair = [Cell(arm, 20, 1, is_full=True) for arm in arms]
    check_pairing({cell: result("x", "same") for cell in pair}, names)
    with pytest.raises(MismatchError, match="same head"):
        check_pairing({cell: result("x", cell.name) for cell in pair}, names)
