"""`section.key=value` changes to a recipe that is still a tree of plain values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from greffe.config.bounds import LONGEST_CHANGE
from greffe.config.registry import Component
from greffe.config.validation import section_at
from greffe.errors import RecipeError, quote
from greffe.parsing import DEEPEST, ParseError, parse_toml


def apply_changes(tree: dict[str, Any], changes: Iterable[str], root: type[BaseModel]) -> None:
    """Apply each change to the tree of a `root` in place; values are TOML or plain words."""
    pairs = [read_change(change) for change in changes]
    # Kinds first: the keys that belong to a kind can then be given in any order.
    for path, value in sorted(pairs, key=lambda pair: pair[0][-1] != "kind"):
        _assign(tree, path, value, root)


def read_change(change: str) -> tuple[list[str], Any]:
    """Return path and value of `a.b=value`."""
    key, equals, raw = change.partition("=")
    path = [part.strip() for part in key.split(".")]
    if not equals or not all(path) or len(path) > DEEPEST or len(change) > LONGEST_CHANGE:
        raise RecipeError(
            f"--set {quote(change)} cannot be read.",
            expected=f"section.key=value, at most {LONGEST_CHANGE:,} characters",
            hint="for example --set train.lr=3e-4",
        )
    return path, _read_value(raw.strip())


def _read_value(text: str) -> Any:
    """Return a TOML value; what is not one value of TOML is a plain word."""
    try:
        tree = parse_toml(f"value = {text}")
    except ParseError:
        return text
    return tree["value"] if len(tree) == 1 else text


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
