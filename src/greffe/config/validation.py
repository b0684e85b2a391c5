"""Validation errors in the user's terms. Knows pydantic and components, no one recipe."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from greffe.config.registry import UNKNOWN_KIND, Component
from greffe.errors import RecipeError, quote


def explain(
    error: ValidationError, source: str, root: type[BaseModel], tree: Mapping[str, Any]
) -> RecipeError:
    """Return the first problem: its key, what it accepts, what was found, and a suggestion."""
    problem = error.errors(include_url=False)[0]
    path = _written(root, [str(part) for part in problem["loc"]], tree)
    key = ".".join(path)
    found = problem.get("input")
    if problem["type"] == "extra_forbidden":
        known = list(section_at(root, path[:-1], tree).model_fields)
        return RecipeError(
            f"{source}: unknown key {quote(key)}.",
            expected=f"one of {', '.join(known)}",
            found=quote(path[-1]),
            hint=_suggestion(path[-1], known, path[:-1]),
        )
    if problem["type"] == UNKNOWN_KIND:
        kinds = problem["ctx"]["kinds"]
        return RecipeError(
            f"{source}: {key} is missing." if found is None else f"{source}: unknown {key}.",
            expected=f"one of {kinds}",
            found=None if found is None else quote(found),
            hint=_suggestion(str(found), kinds.split(", "), []),
        )
    return RecipeError(
        f"{source}: {key} cannot be used."
        if path
        else f"{source}: two keys contradict each other.",
        expected=problem["msg"].removeprefix("Value error, "),
        found=None if isinstance(found, Mapping | BaseModel) else quote(found),
        hint="greffe show RECIPE --json prints every key with its value",
    )


def section_at(
    root: type[BaseModel], path: Sequence[str], tree: Mapping[str, Any]
) -> type[BaseModel]:
    """Return the class of the section at this path; a component's follows from its kind."""
    section = root
    value: Any = tree
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
        field = section.model_fields.get(part)
        found = [] if field is None else _sections(field.annotation)
        if not found:
            break
        section = found[0]
        if issubclass(section, Component) and isinstance(value, Mapping):
            section = section.kinds().get(str(value.get("kind")), section)
    return section


def _written(root: type[BaseModel], path: Sequence[str], tree: Mapping[str, Any]) -> list[str]:
    """Return the part of an error's path that a user writes: no index, no branch of a type."""
    for end, part in enumerate(path):
        field = section_at(root, path[:end], tree).model_fields.get(part)
        if field is None or not _sections(field.annotation):
            return list(path[: end + 1])
    return list(path)


def _sections(annotation: Any) -> list[type[BaseModel]]:
    options = [annotation, *get_args(annotation)]
    return [each for each in options if isinstance(each, type) and issubclass(each, BaseModel)]


def _suggestion(written: str, known: Sequence[str], section: Sequence[str]) -> str | None:
    close = difflib.get_close_matches(written, known, n=1, cutoff=0.5)
    return f"did you mean {'.'.join([*section, *close])!r}?" if close else None
