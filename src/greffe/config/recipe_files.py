"""Recipes by name or path: those that ship with the package, and any TOML file."""

from __future__ import annotations

import difflib
import os
from importlib import resources
from pathlib import Path

from greffe.config.recipe import Recipe, recipe_from_dict
from greffe.errors import CorruptError, RecipeError, quote
from greffe.parsing import ParseError, parse_toml
from greffe.storage import read_file

LARGEST = 100_000
"""Bytes: a recipe with every key has two thousand."""


def builtin_recipes() -> list[str]:
    """Return the names of the recipes that ship with the package."""
    folder = resources.files("greffe") / "recipes"
    names = (item.name for item in folder.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_recipe(name_or_path: str | Path) -> Recipe:
    """Return a shipped recipe by name (`small`, `recipes/small.toml`) or a TOML file by path."""
    path = Path(name_or_path)
    # Unlike Path.exists, this is False for names that no file can have.
    return _parsed(_read_text(path) if os.path.exists(path) else _shipped_text(path), path)


def shipped_recipe(name: str) -> Recipe:
    """Return a shipped recipe by name, whatever the current folder holds."""
    return _parsed(_shipped_text(Path(name)), Path(name))


def _parsed(text: str, path: Path) -> Recipe:
    try:
        tree = parse_toml(text)
    except ParseError as error:
        raise RecipeError(
            f"{path} is not valid TOML.",
            expected="key = value lines in [sections]",
            found=str(error),
        ) from None
    tree.setdefault("name", path.name.removesuffix(".toml"))
    return recipe_from_dict(tree, str(path))


def _read_text(path: Path) -> str:
    try:
        return read_file(path, "a recipe", largest=LARGEST).decode("utf-8-sig")
    except CorruptError as error:
        raise RecipeError(error.message, expected=error.expected, found=error.found) from None
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path} is not UTF-8 text.", found=str(error)) from None


def _shipped_text(path: Path) -> str:
    name = path.name.removesuffix(".toml")
    is_plain = path.parent in (Path(), Path("recipes"))
    if not is_plain or name not in builtin_recipes():
        close = difflib.get_close_matches(name, builtin_recipes(), n=1)
        raise RecipeError(
            f"There is no recipe {quote(str(path))}.",
            expected=f"a TOML file, or one of {', '.join(builtin_recipes())}",
            found="no such file or name",
            hint=f"did you mean {close[0]!r}?" if close else None,
        )
    return (resources.files("greffe") / "recipes" / f"{name}.toml").read_text("utf-8")
