"""Components: found by kind, validated, serialized whole, and loaded no earlier than needed."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar, Literal

import pytest
from pydantic import Field, ValidationError

from greffe.config.registry import UNKNOWN_KIND, Component
from greffe.config.spec import Spec


class Fruit(Component):
    package: ClassVar[str] = "greffe.config"


class Sour(Fruit):
    """A part of the family, with no kind of its own."""


class Lemon(Sour):
    kind: Literal["lemon"] = "lemon"
    slices: int = Field(2, ge=1)


class Plum(Fruit):
    kind: Literal["plum"] = "plum"
    stone: bool = True


class Basket(Spec):
    first: Fruit = Plum()
    others: dict[str, Fruit] = Field(default_factory=dict)


def problem(tree: object) -> tuple[str, tuple[int | str, ...]]:
    with pytest.raises(ValidationError) as caught:
        Basket.model_validate(tree)
    found = caught.value.errors()[0]
    return found["type"], found["loc"]


def test_kinds_are_registered_by_their_definition() -> None:
    assert Fruit.kinds() == {"lemon": Lemon, "plum": Plum}
    assert Sour.kinds() == {"lemon": Lemon}
    assert Fruit.of_kind("lemon") == Lemon()


def test_two_components_of_one_kind_are_a_mistake() -> None:
    with pytest.raises(AssertionError, match="plum"):
        type("Prune", (Plum,), {"__module__": __name__})


def test_a_field_takes_every_kind_and_gives_it_back_whole() -> None:
    tree = {"first": {"kind": "lemon", "slices": 3}, "others": {"a": {"kind": "plum"}}}
    basket = Basket.model_validate(tree)
    assert basket == Basket(first=Lemon(slices=3), others={"a": Plum()})
    assert basket.model_dump(mode="json") == {
        "first": {"kind": "lemon", "slices": 3},
        "others": {"a": {"kind": "plum", "stone": True}},
    }
    assert Basket.model_validate(basket.model_dump(mode="json")) == basket


@pytest.mark.parametrize("tree", [{"kind": "apple"}, {"slices": 3}, {"kind": 3}, {}])
def test_an_unknown_or_missing_kind_is_an_error_at_the_kind(tree: object) -> None:
    assert problem({"first": tree}) == (UNKNOWN_KIND, ("first", "kind"))


def test_errors_inside_a_component_keep_their_location() -> None:
    lemon = {"kind": "lemon", "slices": 0}
    assert problem({"first": lemon}) == ("greater_than_equal", ("first", "slices"))
    assert problem({"others": {"a": {**lemon, "slice": 1}}})[1][:2] == ("others", "a")
    assert problem({"first": {"kind": "plum", "slices": 3}}) == (
        "extra_forbidden",
        ("first", "slices"),
    )


def test_what_is_no_table_is_an_error() -> None:
    assert problem({"first": "lemon"})[1] == ("first",)


def test_recipes_are_defined_without_loading_torch() -> None:
    code = (
        "import sys; from greffe.config.recipe import Recipe;"
        "from greffe.config.sections import TrainSpec; TrainSpec();"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
