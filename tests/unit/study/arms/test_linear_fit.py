"""Linear arms and the majority class, on a handful of texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from greffe.config.options import Training
from greffe.data.tables import Example
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.study.arms import Cell
from greffe.study.arms.majority_arm import MajorityArm
from greffe.study.arms.stacked_arm import StackedArm
from greffe.study.arms.tfidf_arm import TfidfArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.parts import Parts, part_data


@pytest.fixture
def parts() -> Parts:
    pool = [Example(text, label) for label, text in toy_reviews(90, seed=5)]
    return part_data(pool[:50], pool[50:60], pool[60:], seed=0)


@pytest.fixture
def inputs(parts: Parts) -> CellInputs:
    return CellInputs(parts, Training())


def full(arm: MajorityArm | TfidfArm | StackedArm, inputs: CellInputs) -> Cell:
    return Cell(arm, inputs.parts.labelled, 1, is_full=True)


def test_majority_gives_every_text_the_class_frequencies(
    inputs: CellInputs, tmp_path: Path
) -> None:
    arm = MajorityArm("majority")
    result = arm.compute(full(arm, inputs), inputs, tmp_path / "run", resume=False)
    labels = [example.label for example in inputs.parts.train]
    frequencies = [labels.count(label) / len(labels) for label in inputs.parts.labels]
    probabilities = np.array(result.probabilities)
    assert probabilities.shape == (len(inputs.parts.test), 2)
    assert len(set(map(tuple, result.probabilities))) == 1
    np.testing.assert_allclose(probabilities[0], frequencies, atol=1e-6)


def test_tfidf_beats_chance_and_keeps_no_run(inputs: CellInputs, tmp_path: Path) -> None:
    arm = TfidfArm("tfidf")
    result = arm.compute(full(arm, inputs), inputs, tmp_path / "run", resume=False)
    targets = [inputs.parts.labels.index(example.label) for example in inputs.parts.test]
    assert np.mean(np.array(result.probabilities).argmax(1) == targets) > 0.6
    assert result.validation is not None and result.parameters > 0
    assert not (tmp_path / "run").exists()


def test_stacked_keeps_a_run_of_all_labels_and_depends_on_its_base(
    inputs: CellInputs, fresh_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    base = fresh_run("base")
    arm = StackedArm("stacked", base)
    arm.compute(full(arm, inputs), inputs, tmp_path / "kept", resume=False)
    kept = RunDirectory.open(tmp_path / "kept").manifest()
    assert (kept.kind, kept.labels) == ("linear", inputs.parts.labels)
    few = Cell(arm, 20, 1, is_full=False)
    arm.compute(few, inputs, tmp_path / "few", resume=False)
    assert not (tmp_path / "few").exists()
    assert inputs.weights_hash(base) in arm.key_inputs(inputs, 1)
    assert TfidfArm("tfidf").key_inputs(inputs, 1) == [[]]
