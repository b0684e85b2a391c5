"""The ensemble arm: derived from the pretrained arm's cells and TF-IDF's, seed by seed."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.data.tables import Example
from greffe.run import RunDirectory
from greffe.seeding import rng
from greffe.study.arms import ArmOptions, Cell
from greffe.study.arms.ensemble_arm import EnsembleArm
from greffe.study.folder import CellResult, EpochEvaluation
from greffe.study.parts import Parts
from greffe.study.plan import plan_arms, plan_cells

SEEDS = [3, 5]
ASKED = ArmOptions(
    base=RunDirectory("runs/base"), others={"other": RunDirectory("runs/other")}, frozen=True
)
ARMS = plan_arms(ASKED)
[ENSEMBLE] = EnsembleArm.planned(ASKED)
Results = dict[Cell, CellResult]


def result_of(cell: Cell) -> CellResult:
    probabilities = rng(0, cell.name).dirichlet(np.ones(3), size=4)
    return CellResult(
        probabilities=probabilities.tolist(),
        validation=0.8,
        evaluations=[EpochEvaluation(epoch=1.0, accuracy=0.8, log_loss=0.5)],
        seconds=10.0 if cell.arm.name == "pretrained" else 0.5,
        tokens=0 if cell.arm.is_deterministic else 1000,
        memory_bytes=None if cell.arm.is_deterministic else 70,
        parameters=len(cell.arm.name),
        initial_base="abc",
    )


@pytest.fixture
def trained() -> Results:
    pool = [Example(f"texte {n}", "abc"[n % 3]) for n in range(90)]
    parts = Parts(pool[:60], pool[60:75], pool[75:], ["a", "b", "c"], [False] * 15, {})
    return {cell: result_of(cell) for cell in plan_cells(ARMS, [12], SEEDS, parts)}


def geometric(trained: Results, *names: str) -> np.ndarray:
    by_name = {cell.name: np.array(result.probabilities) for cell, result in trained.items()}
    product = np.sqrt(np.prod([by_name[name] for name in names], axis=0))
    return product / product.sum(axis=1, keepdims=True)


def test_each_cell_is_the_geometric_mean_of_the_two(trained: Results) -> None:
    found = {cell.name: result for cell, result in ENSEMBLE.derive(trained).items()}
    assert list(found) == ["ensemble-all-3", "ensemble-all-5", "ensemble-12-3", "ensemble-12-5"]
    # On all labels TF-IDF was fitted with the first seed alone.
    for name, plain in (("all-3", "all-3"), ("all-5", "all-3"), ("12-3", "12-3"), ("12-5", "12-5")):
        expected = geometric(trained, f"pretrained-{name}", f"tfidf-{plain}")
        np.testing.assert_allclose(found[f"ensemble-{name}"].probabilities, expected, rtol=1e-5)


def test_it_costs_what_both_cost_and_has_no_training_of_its_own(trained: Results) -> None:
    for result in ENSEMBLE.derive(trained).values():
        assert result.seconds == 10.5 and result.tokens == 1000 and result.memory_bytes == 70
        assert result.parameters == len("pretrained") + len("tfidf")
        assert result.validation is None and result.initial_base is None
        assert result.evaluations == [] and result.moves == []
