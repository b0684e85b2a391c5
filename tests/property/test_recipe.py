"""Components with any valid choices: they survive TOML, and are built as they say."""

from __future__ import annotations

import tomllib
from typing import Annotated, Any, Literal, get_args, get_origin

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from greffe.config.bounds import bounds_of
from greffe.config.components import ObjectiveSpec, PositionSpec
from greffe.config.recipe import Recipe, recipe_from_dict
from greffe.config.registry import Component
from greffe.config.sections import ModelSpec

torch.set_num_threads(1)

SHAPE = ModelSpec(width=24, heads=3, context=16)


def values(field: FieldInfo) -> st.SearchStrategy[Any]:
    """Return values of a field within its limits."""
    if get_origin(field.annotation) is Literal:
        return st.sampled_from(get_args(field.annotation))
    if field.annotation is bool:
        return st.booleans()
    if field.annotation not in (int, float):
        return st.just(field.default)
    bounds = bounds_of(Annotated[field.annotation, *field.metadata])
    assert bounds is not None
    if field.annotation is int:
        return st.integers(bounds.low, bounds.high)
    return st.floats(bounds.low, bounds.high, exclude_min=True, exclude_max=True)


@st.composite
def components(draw: st.DrawFn, family: type[Component]) -> Component:
    """Return a component of any kind; choices that contradict each other become the defaults."""
    kind = draw(st.sampled_from(list(family.kinds().values())))
    chosen = {name: draw(values(field)) for name, field in kind.model_fields.items()}
    try:
        return kind(**chosen)
    except ValidationError:
        return family.of_kind(chosen["kind"])


def fits(position: PositionSpec) -> bool:
    """Return whether the scheme can be used with the shapes of these tests."""
    try:
        for model in (SHAPE, ModelSpec()):
            position.check(model)
    except ValueError:
        return False
    return True


positions = components(PositionSpec).filter(fits)


@settings(deadline=None)
@given(objective=components(ObjectiveSpec), position=positions)
def test_any_recipe_survives_toml(objective: ObjectiveSpec, position: PositionSpec) -> None:
    model = ModelSpec(position=position)
    recipe = Recipe(objective=objective, model=model)
    assert recipe_from_dict(tomllib.loads(recipe.to_toml()), "round trip") == recipe


@settings(deadline=None, max_examples=40)
@given(position=positions)
def test_any_position_scheme_has_the_parameters_of_its_formula(position: PositionSpec) -> None:
    scheme = position.build(SHAPE)
    counted = sum(parameter.numel() for parameter in scheme.parameters())
    assert counted == position.parameters(SHAPE)[1]
