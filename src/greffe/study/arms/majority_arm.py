"""Always the most frequent class: the accuracy that costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from greffe.baselines.linear_classifier import majority
from greffe.evaluation.metrics import label_indices
from greffe.study.arms.arm import AskedArms, Cell, TrainedArm, register
from greffe.study.cell_inputs import CellInputs
from greffe.study.folder import CellResult, rounded
from greffe.study.parts import labelled_subset


@register
class MajorityArm(TrainedArm):
    """The class frequencies of the training texts, for every text."""

    kind: ClassVar[str] = "majority"
    order: ClassVar[int] = 4
    style_slot: ClassVar[int] = 3
    weight_per_label: ClassVar[float] = 0.0
    compared_with: ClassVar[tuple[str, ...]] = ()
    is_detailed: ClassVar[bool] = False
    is_baseline: ClassVar[bool] = True
    is_constant: ClassVar[bool] = True
    is_deterministic: ClassVar[bool] = True

    @classmethod
    def planned(cls, asked: AskedArms) -> list[Self]:
        """Return one arm, in every study."""
        return [cls(cls.kind)]

    def key_inputs(self, inputs: CellInputs, seed: int) -> list[object]:
        """Return nothing: only the labelled texts matter."""
        return []

    def compute(self, cell: Cell, inputs: CellInputs, folder: Path, *, resume: bool) -> CellResult:
        """Count the classes."""
        examples, _ = labelled_subset(inputs.parts, cell.labels, cell.seed)
        labels = inputs.parts.labels
        targets = label_indices(labels, [example.label for example in examples])
        probabilities = np.tile(majority(targets, len(labels)), (len(inputs.parts.test), 1))
        return CellResult(probabilities=rounded(probabilities), validation=None, seconds=0.0)
