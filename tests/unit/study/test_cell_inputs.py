"""What cells are computed from: recipes, hashes and features that are read once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from greffe.config.options import Training
from greffe.config.recipe_files import load_recipe
from greffe.data.tables import Example
from greffe.model.weights import base_hash
from greffe.run import RunDirectory
from greffe.study import cell_inputs
from greffe.study.cell_inputs import CellInputs, cell_recipe
from greffe.study.parts import Parts
from greffe.training.checkpoint import load_model

FreshRun = Callable[..., RunDirectory]


def test_a_cell_is_one_fine_tuning_unless_more_are_asked_for(fresh_run: FreshRun) -> None:
    base, averaged = fresh_run("base"), load_recipe("small")
    assert averaged.finetune.soup > 1
    assert cell_recipe(base, Training(recipe=averaged), 1).train.soup == 1
    asked = Training(recipe=averaged, changes=["train.soup=2"])
    assert cell_recipe(base, asked, 1).train.soup == 2


def test_the_user_overrules_the_changes_of_an_arm(fresh_run: FreshRun) -> None:
    base = fresh_run("base")
    arm_changes = ["train.lr=0.01"]
    assert cell_recipe(base, Training(), 7, arm_changes).train.lr == 0.01
    asked = Training(changes=["train.lr=0.5"])
    recipe = cell_recipe(base, asked, 7, arm_changes)
    assert (recipe.train.lr, recipe.seed) == (0.5, 7)


def test_weights_are_read_once(fresh_run: FreshRun, monkeypatch: pytest.MonkeyPatch) -> None:
    base = fresh_run("base")
    pool = [Example("un", "a"), Example("deux", "b")]
    inputs = CellInputs(Parts(pool, pool, pool, ["a", "b"], [True, True], {}), Training())
    assert inputs.base_hash(base) == base_hash(load_model(base))
    assert inputs.base_features(base) is inputs.base_features(base)
    monkeypatch.setattr(cell_inputs, "run_weights", None)
    assert inputs.weights_hash(base) == base.manifest().weights
