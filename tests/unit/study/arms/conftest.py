"""A handful of labelled texts, and arms computed on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from greffe.config.options import Training
from greffe.data.tables import Example
from greffe.progress import quiet
from greffe.samples.toy import toy_reviews
from greffe.study.arms import Cell, TrainedArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.folder import CellResult
from greffe.study.parts import part_data


@pytest.fixture
def inputs() -> CellInputs:
    """Fifty training texts, ten for validation and thirty for the test."""
    pool = [Example(text, label) for label, text in toy_reviews(90, seed=5)]
    parts = part_data(pool[:50], pool[50:60], pool[60:], seed=0)
    return CellInputs(parts, Training(budget="2steps", changes=["train.threads=1"]))


@pytest.fixture
def compute(inputs: CellInputs, tmp_path: Path) -> Callable[..., CellResult]:
    """compute(arm): the result with seed 1 and all labels; a run is written to `arm.name`."""

    def run(arm: TrainedArm, labels: int | None = None) -> CellResult:
        cell = Cell(arm, labels or inputs.parts.labelled, 1, is_full=labels is None)
        with quiet():
            return arm.compute(cell, inputs, tmp_path / arm.name, resume=False)

    return run
