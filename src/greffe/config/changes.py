"""`section.key=value` changes to a recipe that is still a tree of plain values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from greffe.errors import RecipeError

Components = Mapping[str, tuple[type[BaseModel], ...]]
"""Sections that may be of several kinds, and those kinds."""


def apply_changes(tree: dict[str, Any], changes: Iterable[str], components: Components) -> None:
    """Assign each change in place; values are TOML, or plain words."""
    pairs = [_read_change(change) for change in changes]
    # Kinds first: the keys that belong to a kind can then be given in any order.
    for path, value in sorted(pairs, key=lambda pair: pair[0][-1] != "kind"):
        _assign(tree, path, value, components)


def _read_change(change: str) -> tuple[list[str], Any]:
    """`a.b=value` as path and value."""
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


def _assign(tree: dict[str, Any], path: list[str], value: Any, components: Components) -> None:
    *parents, last = path
    place = tree
    for parent in parents:
        child = place.get(parent)
        if not isinstance(child, dict):
            place[parent] = child = {}
        place = child
    if last == "kind" and (union := components.get(".".join(parents))):
        # A component of another kind keeps the choices that both kinds know.
        members = {member.model_fields["kind"].default: member for member in union}
        known = members[value].model_fields if value in members else {}
        for name in [name for name in place if name not in known]:
            del place[name]
    place[last] = value
