"""What a recipe that does not validate means for the user. Knows pydantic, no one recipe."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from greffe.errors import RecipeError


def explain(error: ValidationError, source: str, root: type[BaseModel]) -> RecipeError:
    """The first problem: its key, what it takes, what was found, and what may have been meant."""
    problem = error.errors(include_url=False)[0]
    place, written = _descend(root, [str(part) for part in problem["loc"]])
    key = ".".join(written) or "recipe"
    if problem["type"] == "extra_forbidden":
        known = list(place.model_fields)
        close = difflib.get_close_matches(written[-1], known, n=1, cutoff=0.5)
        meant = ".".join([*written[:-1], *close])
        return RecipeError(
            f"{source}: unknown key {key!r}.",
            expected=f"one of {', '.join(known)}",
            found=repr(written[-1]),
            hint=f"did you mean {meant!r}?" if close else None,
        )
    found = problem.get("input")
    return RecipeError(
        f"{source}: {key} cannot be used.",
        expected=problem["msg"].removeprefix("Value error, "),
        found=None if isinstance(found, Mapping | BaseModel) else repr(found),
        hint="greffe show RECIPE --json prints every key with its value",
    )


def _descend(root: type[BaseModel], path: Sequence[str]) -> tuple[type[BaseModel], list[str]]:
    """The section that holds the end of the path, and the path as a user writes it.

    Inside a component of several kinds the path also names the kind, which nobody writes.
    """
    place, written, kinds = root, [], dict[str, type[BaseModel]]()
    for part in path:
        if part in kinds:
            place, kinds = kinds[part], {}
            continue
        written.append(part)
        field = place.model_fields.get(part)
        if field is None:
            break
        options = [field.annotation, *get_args(field.annotation)]
        sections = [option for option in options if _is_section(option)]
        if len(sections) == 1:
            place = sections[0]
        elif sections:
            kinds = {section.model_fields["kind"].default: section for section in sections}
        else:  # a value: what follows is a branch of its type or an index
            break
    return place, written


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
