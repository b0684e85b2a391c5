"""What a fine-tuning's recipe says once flags and changes are in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from greffe.config.option_groups import flat_keywords
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import Classification
from greffe.pipelines.finetune_recipe import finetune_recipe as recipe_of
from greffe.run import RunDirectory

finetune_recipe = flat_keywords(recipe_of)


def test_the_recipes_own_budget_keeps_its_least_steps() -> None:
    recipe = load_recipe("small")
    chosen = finetune_recipe(recipe=recipe, changes=["finetune.lr=0.001"])
    assert recipe.finetune.least_steps > 0
    assert chosen.train.least_steps == recipe.finetune.least_steps
    assert chosen.train.soup == recipe.finetune.soup > 1
    assert chosen.train.lr == 0.001


@pytest.mark.parametrize("change", ["finetune.budget=1epochs", "train.budget = '1epochs'"])
def test_the_users_budget_is_exact(change: str) -> None:
    chosen = finetune_recipe(recipe=load_recipe("small"), changes=[change])
    assert (chosen.train.budget, chosen.train.least_steps) == ("1epochs", 0)
    assert chosen.train.soup == 1
    flag = finetune_recipe(recipe="small", budget="1epochs")
    assert flag.train == chosen.train


def test_the_users_soup_stays_with_the_users_budget() -> None:
    flag = finetune_recipe(recipe="small", budget="1epochs", soup=2)
    assert flag.train.soup == 2
    changed = finetune_recipe(recipe="small", budget="1epochs", changes=["train.soup=4"])
    assert changed.train.soup == 4


def test_the_users_least_steps_stay_with_the_users_budget() -> None:
    changes = ["finetune.least_steps=30"]
    chosen = finetune_recipe(recipe="small", budget="1epochs", changes=changes)
    assert chosen.train.least_steps == 30


def test_intermediate_and_target_change_only_how_labels_are_learned(
    tmp_path: Path,
) -> None:
    base = RunDirectory(tmp_path)
    base.write_recipe(load_recipe("greffe-fr"))
    usual = finetune_recipe(parent=base)
    for name, soup, balance in (("intermediate", 1, "balanced"), ("target", 3, "none")):
        chosen = finetune_recipe(parent=base, recipe=name)
        assert (chosen.model, chosen.tokenizer) == (usual.model, usual.tokenizer)
        assert chosen.train != usual.train
        assert chosen.train.soup == soup
        assert isinstance(chosen.objective, Classification)
        assert chosen.objective.class_weights == balance
        assert chosen.objective.token_dropout == 0.2
