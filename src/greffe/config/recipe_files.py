"""Recipes by name or path: those that ship with the package, and any TOML file."""

from __future__ import annotations

import difflib
import tomllib
from importlib import resources
from pathlib import Path

from greffe.config.recipe import Recipe, recipe_from_dict
from greffe.errors import RecipeError


def builtin_recipes() -> list[str]:
    """Return the names of the recipes that ship with the package."""
    folder = resources.files("greffe") / "recipes"
    names = (item.name for item in folder.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_recipe(name_or_path: str | Path) -> Recipe:
    """Return a shipped recipe by name (`small`, `recipes/small.toml`) or a TOML file by path."""
    path = Path(name_or_path)
    if path.is_file():
        text = _read_utf8(path)
    else:
        name = path.name.removesuffix(".toml")
        is_plain = path.parent in (Path(), Path("recipes"))
        if not is_plain or name not in builtin_recipes():
            close = difflib.get_close_matches(name, builtin_recipes(), n=1)
            raise RecipeError(
                f"There is no recipe {str(name_or_path)!r}.",
                expected=f"a TOML file, or one of {', '.join(builtin_recipes())}",
                found="no such file or name",
                hint=f"did you mean {close[0]!r}?" if close else None,
            )
        text = (resources.files("greffe") / "recipes" / f"{name}.toml").read_text("utf-8")
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(
            f"{name_or_path} is not valid TOML.",
            expected="key = value lines in [sections]",
            found=str(error),
        ) from None
    tree.setdefault("name", path.name.removesuffix(".toml"))
    return recipe_from_dict(tree, str(name_or_path))


def _read_utf8(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path} is not UTF-8 text.", found=str(error)) from None
