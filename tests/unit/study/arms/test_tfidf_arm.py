"""TF-IDF: the baseline, on the labelled texts alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from greffe.study.arms.tfidf_arm import TfidfArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.folder import CellResult


def test_it_beats_chance(inputs: CellInputs, compute: Callable[..., CellResult]) -> None:
    result = compute(TfidfArm("tfidf"))
    targets = [inputs.parts.labels.index(example.label) for example in inputs.parts.test]
    assert np.mean(np.array(result.probabilities).argmax(1) == targets) > 0.6
    assert result.validation is not None and result.parameters > 0


def test_it_depends_on_no_run_and_no_seed(inputs: CellInputs) -> None:
    arm = TfidfArm("tfidf")
    assert arm.key_inputs(inputs, 1) == arm.key_inputs(inputs, 2) == [[]]
