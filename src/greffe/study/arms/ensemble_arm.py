"""The pretrained arm and TF-IDF with equal weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

import numpy as np

from greffe.baselines.ensembling import ensemble_probabilities
from greffe.study.arms.arm import ArmOptions, Cell, DerivedArm, register
from greffe.study.folder import CellResult

FIRST, SECOND = "pretrained", "tfidf"


@register
class EnsembleArm(DerivedArm):
    """The geometric mean of the probabilities of the pretrained arm and of TF-IDF."""

    kind = "ensemble"
    order = 7
    style_slot = 9
    weight_per_label = 0.0
    compared_with = ("tfidf",)
    uses_weights = True

    @classmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
        """Return one arm, in every study."""
        return [cls(cls.kind, options.base)]

    def derive(self, trained: Mapping[Cell, CellResult]) -> dict[Cell, CellResult]:
        """Return a result for each of the pretrained arm's, with TF-IDF's on the same labels."""
        second = {
            _labels_of(cell): result for cell, result in trained.items() if cell.arm.name == SECOND
        }
        return {
            replace(cell, arm=self): _ensemble(result, second[_labels_of(cell)])
            for cell, result in trained.items()
            if cell.arm.name == FIRST
        }


def _labels_of(cell: Cell) -> tuple[int, int | None]:
    """Return which labels a cell has: a drawn subset depends on the seed, all of them do not."""
    return cell.labels, None if cell.is_full else cell.seed


def _ensemble(*results: CellResult) -> CellResult:
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
