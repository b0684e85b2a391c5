"""The blended cells of a study: the pretrained arm and TF-IDF, each with the same say.

They follow from the results of these two arms: nothing is trained, and nothing kept on disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from greffe.baselines.ensembling import ensemble_probabilities
from greffe.study.folder import CellResult
from greffe.study.plan import PRETRAINED, TFIDF, ArmPlan, Cell


def ensemble_cells(
    arms: Sequence[ArmPlan], trained: Mapping[Cell, CellResult]
) -> dict[Cell, CellResult]:
    """A cell for each of the pretrained arm's, blended with TF-IDF's on the same labels."""
    plain = {_labels_of(cell): result for cell, result in trained.items() if cell.arm.name == TFIDF}
    return {
        replace(cell, arm=arm): _together(result, plain[_labels_of(cell)])
        for arm in arms
        if arm.kind == "ensemble"
        for cell, result in trained.items()
        if cell.arm.name == PRETRAINED
    }


def _labels_of(cell: Cell) -> tuple[int, int | None]:
    """Which labels a cell has: few of them depend on the seed, all of them do not."""
    return cell.labels, None if cell.is_full else cell.seed


def _together(*results: CellResult) -> CellResult:
    probabilities = ensemble_probabilities([np.array(result.probabilities) for result in results])
    peaks = [result.memory_bytes for result in results if result.memory_bytes is not None]
    return CellResult(
        probabilities=probabilities.tolist(),
        validation=None,
        seconds=sum(result.seconds for result in results),
        tokens=sum(result.tokens for result in results),
        memory_bytes=max(peaks, default=None),
        parameters=sum(result.parameters for result in results),
    )
