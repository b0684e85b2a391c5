"""Parameters by formula: the same as in a model that is built."""

from __future__ import annotations

import pytest

from greffe.config.recipe_files import builtin_recipes, load_recipe
from greffe.model.formulas import BASE_PARTS, base_formulas, count_parameters
from greffe.model.model import empty_model
from greffe.model.parameters import default_heads


@pytest.mark.parametrize("name", builtin_recipes())
def test_the_formulas_count_what_a_model_has(name: str) -> None:
    recipe = load_recipe(name)
    heads = default_heads(recipe.model)
    model = empty_model(recipe.model, recipe.tokenizer.vocab, heads)
    counted = sum(parameter.numel() for parameter in model.parameters())
    assert count_parameters(recipe.model, recipe.tokenizer.vocab, heads.values()) == counted


def test_the_lab_has_the_parameters_of_the_lab() -> None:
    recipe = load_recipe("lab")
    formulas = base_formulas(recipe.model, recipe.tokenizer.vocab)
    assert sum(formulas[part][1] for part in BASE_PARTS) == 10_968_200
