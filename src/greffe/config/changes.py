"""`section.key=value` changes to a recipe that is still a tree of plain values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from greffe.config.registry import Component
from greffe.config.validation import section_at
from greffe.errors import RecipeError


def apply_changes(tree: dict[str, Any], changes: Iterable[str], root: type[BaseModel]) -> None:
    """Apply each change to the tree of a `root` in place; values are TOML or plain words."""
    pairs = [_read_change(change) for change in changes]
    # Kinds first: the keys that belong to a kind can then be given in any order.
    for path, value in sorted(pairs, key=lambda pair: pair[0][-1] != "kind"):
        _assign(tree, path, value, root)


def _read_change(change: str) -> tuple[list[str], Any]:
    """Split `a.b=value` into path and value."""
    key, equals, raw = change.partition("=")
    if not equals or not key.strip():
        raise RecipeError(
            f"--set {change!r} cannot be read.",
            expected="section.key=value",
            hint="for example --set train.lr=3e-4",
        )
    try:
        value = tomllib.loads(f"value = {raw.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = raw.strip()
    return key.strip().split("."), value


def _assign(tree: dict[str, Any], path: list[str], value: Any, root: type[BaseModel]) -> None:
    *parents, last = path
    section = tree
    for parent in parents:
        child = section.get(parent)
        if not isinstance(child, dict):
            section[parent] = child = {}
        section = child
    section[last] = value
    if last == "kind" and issubclass(known := section_at(root, parents, tree), Component):
        # A component of another kind keeps the choices that both kinds have.
        for name in [name for name in section if name not in known.model_fields]:
            del section[name]
