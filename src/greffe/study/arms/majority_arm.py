"""Always the most frequent class: the accuracy that costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np

from greffe.evaluation.metrics import label_indices
from greffe.study.arms.arm import ArmOptions, Cell, TrainedArm, register
from greffe.study.cell_inputs import CellInputs
from greffe.study.folder import CellResult, rounded
from greffe.study.parts import labelled_subset


@register
class MajorityArm(TrainedArm):
    """The class frequencies of the training texts, for every text."""

    kind = "majority"
    order = 4
    style_slot = 3
    weight_per_label = 0.0
    is_detailed = False
    is_baseline = True
    is_constant = True
    is_deterministic = True

    @classmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
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
        frequencies = np.bincount(targets, minlength=len(labels)) / len(targets)
        probabilities = np.tile(frequencies, (len(inputs.parts.test), 1))
        return CellResult(probabilities=rounded(probabilities), validation=None, seconds=0.0)
