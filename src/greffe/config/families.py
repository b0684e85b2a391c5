"""Families of architectures: their names, and the choices of a model that make one.

A family is a file in `interop/huggingface/families`, and a recipe of its name. Only the names of
the files are read here: reading a recipe does not import torch.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from greffe.config.bounds import Name
from greffe.config.changes import read_change
from greffe.config.registry import UNKNOWN_KIND

NATIVE = "greffe"
SIZES = frozenset(
    (
        *("width", "layers", "heads", "kv_heads", "feed_forward", "context"),
        *("dropout", "tied", "embedding_width"),
    )
)
"""Choices of a model that every family leaves open."""


@cache
def known_families() -> tuple[str, ...]:
    """Return the names of all families, greffe's own first."""
    folder = resources.files("greffe") / "interop" / "huggingface" / "families"
    files = (item.name for item in folder.iterdir())
    names = (name.removesuffix(".py") for name in files if name.endswith(".py"))
    return (NATIVE, *sorted(name for name in names if name != "__init__"))


def _known(name: str) -> str:
    if name not in known_families():
        names = ", ".join(known_families())
        raise PydanticCustomError(UNKNOWN_KIND, "one of {kinds}", {"kinds": names})
    return name


FamilyName = Annotated[Name, AfterValidator(_known)]


def family_choices(name: str) -> dict[str, Any]:
    """Return the choices that make a family, as plain values: its recipe's, without the sizes."""
    # They know recipes, which know models, which know the names of families.
    from greffe.config.recipe_files import shipped_recipe
    from greffe.config.sections import ModelSpec

    model = ModelSpec() if name == NATIVE else shipped_recipe(name).model
    return model.model_dump(mode="json", exclude=set(SIZES))


def apply_family(tree: dict[str, Any], changes: Iterable[str]) -> None:
    """Give the tree of a recipe the choices of the family that the changes name, if they do."""
    chosen = [value for path, value in map(read_change, changes) if path == ["model", "family"]]
    if chosen and chosen[-1] in known_families():  # what is unknown, is an error afterwards
        tree["model"] |= family_choices(chosen[-1])
