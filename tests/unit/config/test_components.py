"""Families of components: every kind can be written to a recipe and explained."""

from __future__ import annotations

import tomllib

import pytest

from greffe.config.components import HeadSpec, ObjectiveSpec, PositionSpec
from greffe.config.recipe import Recipe, recipe_from_dict
from greffe.config.sections import ModelSpec
from greffe.config.spec import Spec

FAMILIES = (ObjectiveSpec, PositionSpec, HeadSpec)


@pytest.mark.parametrize(
    "recipe",
    [
        *(Recipe(objective=ObjectiveSpec.of_kind(kind)) for kind in ObjectiveSpec.kinds()),
        *(
            Recipe(model=ModelSpec(position=PositionSpec.of_kind(kind)))
            for kind in PositionSpec.kinds()
        ),
    ],
    ids=[*ObjectiveSpec.kinds(), *PositionSpec.kinds()],
)
def test_every_objective_and_position_scheme_survives_toml(recipe: Recipe) -> None:
    assert recipe_from_dict(tomllib.loads(recipe.to_toml()), "round trip") == recipe


@pytest.mark.parametrize(
    "component", [kind for family in FAMILIES for kind in family.kinds().values()]
)
def test_every_key_has_a_help_text(component: type[Spec]) -> None:
    assert component.model_fields.keys() <= component.help_texts().keys()
