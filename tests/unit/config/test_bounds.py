"""Bounds of numbers: every number that a user can give has both."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
import typer
from annotated_types import Interval
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from greffe.cli.main import app
from greffe.config import bounds, options
from greffe.config.bounds import Bounds, Fraction, ProperFraction, Seed, bounds_of, check_number
from greffe.config.components import HeadSpec, ObjectiveSpec, PositionSpec
from greffe.config.option_groups import OptionGroup
from greffe.config.recipe import Recipe, recipe_from_dict
from greffe.errors import RecipeError

TYPES = {name: kind for name, kind in vars(bounds).items() if bounds_of(kind)}
FAMILIES = (ObjectiveSpec, PositionSpec, HeadSpec)


def sections(section: type[BaseModel], path: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield a section and its subsections, each with the path of its keys."""
    yield path, section
    for name, field in section.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from sections(field.annotation, f"{path}{name}.")


def all_sections() -> list[tuple[str, type[BaseModel]]]:
    kinds = [kind for family in FAMILIES for kind in family.kinds().values()]
    return [*sections(Recipe), *((kind.__name__, kind) for kind in kinds)]


def numbers_of(field: FieldInfo) -> Iterator[Any]:
    """Yield the types of a field's numbers: its own, in a union, or in a tuple."""
    yield from _numbers(Annotated[field.annotation, *field.metadata, "a field"])


def _numbers(kind: Any) -> Iterator[Any]:
    inner = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if inner in (int, float):
        yield kind
    for part in get_args(inner):
        yield from _numbers(part)


@pytest.mark.parametrize(("path", "section"), all_sections())
def test_every_number_of_a_recipe_has_both_bounds(path: str, section: type[BaseModel]) -> None:
    for name, field in section.model_fields.items():
        for number in numbers_of(field):
            bounds = bounds_of(number)
            assert bounds is not None, f"{path}{name}"
            assert bounds.low is not None and bounds.high is not None, f"{path}{name}"


def test_the_walk_finds_the_numbers() -> None:
    found = {
        f"{path}{name}"
        for path, section in sections(Recipe)
        for name, field in section.model_fields.items()
        for _ in numbers_of(field)
    }
    assert {"seed", "model.layers", "train.betas", "train.freeze", "finetune.lr"} <= found


def keys_with_an_upper_bound() -> Iterator[tuple[str, float]]:
    for path, section in sections(Recipe):
        for name, field in section.model_fields.items():
            bounds = bounds_of(Annotated[field.annotation, *field.metadata, "a field"])
            if bounds is not None:
                yield f"{path}{name}", bounds.high


@pytest.mark.parametrize(("key", "high"), list(keys_with_an_upper_bound()))
@pytest.mark.parametrize("factor", [2, 10**6])
def test_a_number_beyond_its_bound_is_an_error_that_names_the_key(
    key: str, high: float, factor: int
) -> None:
    with pytest.raises(RecipeError, match=key) as caught:
        Recipe().with_changes([f"{key}={high * factor}"])
    assert "less than" in str(caught.value.expected) or "maximum" in str(caught.value.expected)


@pytest.mark.parametrize(
    "value", ["nan", "inf", "-inf", "-1", "1e400", "[1]", "x", pytest.param("9" * 5000, id="long")]
)
@pytest.mark.parametrize("key", [key for key, _ in keys_with_an_upper_bound()])
def test_no_number_is_below_zero_or_not_finite(key: str, value: str) -> None:
    with pytest.raises(RecipeError, match=key):
        Recipe().with_changes([f"{key}={value}"])


def test_every_number_of_an_option_group_has_both_bounds() -> None:
    any_type = dict.fromkeys(("Recipe", "Tokenizer", "Examples", "RunDirectory"), object)
    groups = [
        value
        for value in vars(options).values()
        if isinstance(value, type) and issubclass(value, OptionGroup) and value is not OptionGroup
    ]
    found = set()
    for group in groups:
        hints = get_type_hints(group, localns=any_type, include_extras=True)
        for field in fields(group):
            parts = [hints[field.name], *get_args(hints[field.name])]
            assert not {int, float} & set(parts), f"{group.__name__}.{field.name} has no bounds"
            found |= {field.name} if bounds_of(hints[field.name]) else set()
    assert found == {"vocab", "new_vocab", "seed", "soup", "jobs", "seeds"}


def test_every_number_of_the_command_line_has_both_bounds() -> None:
    group: Any = typer.main.get_command(app)
    found = set()
    for verb, command in group.commands.items():
        for parameter in command.params:
            if any(_numbers(parameter.type_descriptor.annotation)):
                name = f"{verb} {parameter.opts[0]}"
                assert parameter.min is not None and parameter.max is not None, name
                found.add(name)
    assert {"generate --temperature", "prepare --valid", "compare --seeds"} <= found


@pytest.mark.parametrize("name", TYPES)
def test_numbers_at_the_bounds_and_beyond(name: str) -> None:
    found = bounds_of(TYPES[name])
    assert found is not None
    assert found.include(found.low) == (found.interval.ge is not None)
    assert found.include(found.high) == (found.interval.le is not None)
    step = 1 if found.number is int else 1e-3
    assert not found.include(found.low - step)
    assert not found.include(found.high * 1.001 if found.number is float else found.high + 1)
    for wrong in (math.nan, math.inf, -math.inf, 10**400, "1", None, True):
        assert not found.include(wrong), wrong


def test_bounds_are_said_in_words() -> None:
    assert str(bounds_of(Fraction)) == "a number, at least 0 and at most 1"
    assert str(bounds_of(ProperFraction)) == "a number, above 0 and below 1"
    assert bounds_of(Seed | None) == Bounds(int, Interval(ge=0, le=2**63 - 1))
    assert bounds_of(str) is bounds_of(str | None) is None


@pytest.mark.parametrize("value", [-1, 2**63, 1.0, "1", 10**5000], ids=lambda _: "")
def test_a_wrong_argument_is_an_error_with_what_is_expected(value: object) -> None:
    with pytest.raises(RecipeError, match="Invalid seed") as caught:
        check_number("seed", value, Seed, example="--seed 1")
    assert "at most 9,223" in str(caught.value.expected)
    assert len(str(caught.value)) < 1000


def test_values_at_the_upper_bounds_are_recipes() -> None:
    assert recipe_from_dict({"model": {"layers": 1000, "context": 131_072}}, "recipe")
    assert recipe_from_dict({"train": {"batch": 1_000_000}, "seed": 2**63 - 1}, "recipe")
