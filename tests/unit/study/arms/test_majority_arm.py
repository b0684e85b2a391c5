"""The majority class: class frequencies, whatever the text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from greffe.study.arms.majority_arm import MajorityArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.folder import CellResult


def test_every_text_gets_the_class_frequencies(
    inputs: CellInputs, compute: Callable[..., CellResult]
) -> None:
    result = compute(MajorityArm("majority"))
    labels = [example.label for example in inputs.parts.train]
    frequencies = [labels.count(label) / len(labels) for label in inputs.parts.labels]
    expected = np.tile(frequencies, (len(inputs.parts.test), 1))
    np.testing.assert_allclose(result.probabilities, expected, atol=1e-6)
