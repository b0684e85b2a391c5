"""The cells of a study: computed, or found on disk with the same inputs.

A cell's result is a function of its inputs, whose hash is its key: a result with the same key is
not computed again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from greffe.errors import CorruptError, DivergedError, InterruptedRunError, MismatchError
from greffe.pipelines.jobs import ONE_BY_ONE, SideBySide
from greffe.pipelines.labelled import data_hash
from greffe.progress import Progress, notice
from greffe.run import RUN_FILE
from greffe.study.arms import Cell, PlannedArm, TrainedArm
from greffe.study.arms.finetuned import FinetunedArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.folder import CellFile, CellResult, StudyDirectory
from greffe.study.parts import Parts, labelled_subset
from greffe.training.workers import Task, run_side_by_side

FORMAT = 3


def compute_cells(
    study: StudyDirectory,
    inputs: CellInputs,
    keys: Mapping[Cell, str],
    *,
    keep_runs: bool,
    side_by_side: SideBySide = ONE_BY_ONE,
) -> dict[Cell, CellResult]:
    """Return the result of every cell that has a key, computed or found.

    Unless `keep_runs`, only the best run of each arm stays on disk. With several jobs, worker
    processes compute the cells.
    """
    results = _known_results(study, keys, inputs.parts)
    if results:
        notice(f"compare: {len(results)} of {len(keys)} trainings are already done")
    work = [CellWork(study, cell, keys[cell]) for cell in keys if cell not in results]
    try:
        with Progress("compare", sum(each.cell.weight for each in work)) as progress:
            if side_by_side.jobs > 1:
                computed = _side_by_side(inputs, work, progress, side_by_side)
            else:
                computed = _one_by_one(inputs, work, progress)
            with closing(computed):
                for each, result in computed:
                    results[each.cell] = result
                    if not keep_runs:
                        _drop_others(study, each.cell.arm, _in_order(results, keys))
                    # Last: a cell with a result is not looked at again.
                    study.write_cell(each.cell.name, CellFile(key=each.key, result=result))
    except (InterruptedRunError, KeyboardInterrupt):
        raise InterruptedRunError(
            f"Stopped; {len(results)} of {len(keys)} trainings are done and kept in {study.path}.",
            hint="the same command resumes the study",
        ) from None
    return _in_order(results, keys)


@dataclass(frozen=True)
class CellWork:
    """A cell to compute, and where."""

    study: StudyDirectory
    cell: Cell
    key: str


Computed = Generator[tuple[CellWork, CellResult]]


def _one_by_one(inputs: CellInputs, work: Sequence[CellWork], progress: Progress) -> Computed:
    for number, each in enumerate(work, 1):
        with progress.part(each.cell.weight, f"{number}/{len(work)} {_label(each.cell)}"):
            result = _compute(inputs, each)
        yield each, result


def _side_by_side(
    inputs: CellInputs, work: Sequence[CellWork], progress: Progress, how: SideBySide
) -> Computed:
    tasks = [
        Task(each, _label(each.cell), each.cell.weight, shares=each.cell.arm.shares)
        for each in work
    ]
    return run_side_by_side(
        _compute, inputs, tasks, jobs=how.jobs, threads=how.threads, progress=progress
    )


def _in_order(
    results: Mapping[Cell, CellResult], keys: Mapping[Cell, str]
) -> dict[Cell, CellResult]:
    """Return the results in the order of the plan, whichever was ready first."""
    return {cell: results[cell] for cell in keys if cell in results}


def cell_key(cell: Cell, inputs: CellInputs) -> str:
    """Return the hash of everything that a cell's result depends on."""
    assert isinstance(cell.arm, TrainedArm)
    train, valid = labelled_subset(inputs.parts, cell.labels, cell.seed)
    values = [
        FORMAT,
        cell.arm.kind,
        data_hash(train),
        data_hash(valid),
        inputs.test_hash,
        *cell.arm.key_inputs(inputs, cell.seed),
    ]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def compute_cell(cell: Cell, inputs: CellInputs, folder: Path, *, resume: bool) -> CellResult:
    """Train and test one cell; its run is written to `folder`."""
    assert isinstance(cell.arm, TrainedArm)
    return cell.arm.compute(cell, inputs, folder, resume=resume)


def best_cell(arm: PlannedArm, results: Mapping[Cell, CellResult]) -> Cell | None:
    """Return the cell with all labels that is best on the validation part, the first of equals."""
    full = [cell for cell in results if cell.arm == arm and cell.is_full]
    return max(full, key=lambda cell: results[cell].validation or 0.0, default=None)


def has_run(folder: Path) -> bool:
    """Return whether a run was begun there."""
    return (folder / RUN_FILE).exists()


def check_transfer(cell: Cell, result: CellResult, base: str) -> None:
    """Check that an arm starts with its base, bit for bit, exactly if it should."""
    is_there = result.initial_base == base
    if is_there == cell.arm.uses_weights:
        return
    raise MismatchError(
        f"{cell.name}: the pretrained weights were "
        + ("in the model from scratch too." if is_there else "not in the model at its first step."),
        expected="any other base" if is_there else f"a base with hash {base[:12]}",
        found=f"{(result.initial_base or 'none')[:12]}",
        hint="the comparison would be worthless; please report it with the study's folder",
    )


def check_pairing(results: Mapping[Cell, CellResult], arms: Sequence[str]) -> None:
    """Check that with the same seed these arms start with the same head, bit for bit."""
    heads: dict[tuple[int, int], set[str | None]] = {}
    for cell, result in results.items():
        if cell.arm.name in arms:
            heads.setdefault((cell.labels, cell.seed), set()).add(result.initial_head)
    unequal = [seed for (_, seed), hashes in heads.items() if len(hashes) > 1]
    if unequal:
        raise MismatchError(
            f"The arms of seed {unequal[0]} did not start with the same head.",
            expected=f"the same initial head for {' and '.join(arms)}",
            found="different ones",
            hint="the comparison would not be paired; please report it with the study's folder",
        )


def _known_results(
    study: StudyDirectory, keys: Mapping[Cell, str], parts: Parts
) -> dict[Cell, CellResult]:
    results = {}
    for cell, key in keys.items():
        known = study.cell(cell.name)
        if known is not None and known.key == key and known.result is not None:
            _check_shape(study, cell, known.result, parts)
            results[cell] = known.result
    return results


def _check_shape(study: StudyDirectory, cell: Cell, result: CellResult, parts: Parts) -> None:
    """Check that a result that was found is about the test texts and classes of this study."""
    expected = len(parts.test), len(parts.labels)
    found = len(result.probabilities), len(result.probabilities[0]) if result.probabilities else 0
    if found != expected:
        raise CorruptError(
            f"{study.cell_path(cell.name)} is damaged.",
            expected=f"the probabilities of {expected[0]:,} texts for {expected[1]} classes",
            found=f"{found[0]:,} texts, {found[1]} classes",
            hint="remove this file, and the same command computes it again",
        )


def _compute(inputs: CellInputs, work: CellWork) -> CellResult:
    study, cell, key = work.study, work.cell, work.key
    folder = study.run_path(cell.name)
    known = study.cell(cell.name)
    is_same = known is not None and known.key == key
    if not is_same:
        shutil.rmtree(folder, ignore_errors=True)
        study.write_cell(cell.name, CellFile(key=key))
    try:
        result = compute_cell(cell, inputs, folder, resume=is_same and has_run(folder))
    except DivergedError as error:
        raise DivergedError(
            f"{_label(cell)}: {error.message}",
            expected=error.expected,
            found=error.found,
            hint="finished trainings are kept; use a lower learning rate for the study, as in "
            "--set train.lr=1e-4",
        ) from None
    if isinstance(cell.arm, FinetunedArm):
        check_transfer(cell, result, inputs.base_hash(cell.arm.model_run))
    return result


def _drop_others(
    study: StudyDirectory, arm: PlannedArm, results: Mapping[Cell, CellResult]
) -> None:
    """Remove the runs of an arm that are not its best."""
    best = best_cell(arm, results)
    for cell in results:
        if cell.arm == arm and cell != best:
            shutil.rmtree(study.run_path(cell.name), ignore_errors=True)


def _label(cell: Cell) -> str:
    labels = "" if cell.is_full else f", {cell.labels} labels"
    return f"{cell.arm.name}{labels}, seed {cell.seed}"
