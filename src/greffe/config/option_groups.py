"""Groups of options as dataclasses, and functions that take their fields as flat keywords.

A function written with a group as parameter, `def f(data, *, output: Output)`, decorated with
`flat_keywords` is called as `f(data, out="runs/a", overwrite=True)` or `f(data, output=Output(…))`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import wraps
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

from greffe.config.field_docs import field_docs

R = TypeVar("R")


@dataclass(frozen=True)
class Flag:
    """How a field's flag differs from what its name and type say: `Annotated[str, Flag(…)]`."""

    name: str | None = None
    words: Any = None
    """The type on the command line, for values that `parse` reads."""
    parse: Callable[[Any], Any] | None = None


class Without:
    """Fields of a group that a function does not take: `Annotated[Training, Without("soup")]`."""

    def __init__(self, *names: str) -> None:
        self.names = names


class OptionGroup:
    """Base of the groups: frozen dataclasses whose fields have a docstring each."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@dataclass(frozen=True)
class GroupParameter:
    """A parameter that takes a group, and which of the group's fields its function uses."""

    name: str
    group: type[OptionGroup]
    excluded: tuple[str, ...]

    @property
    def fields(self) -> list[Field[Any]]:
        """The fields in their order."""
        return [field for field in fields(self.group) if field.name not in self.excluded]

    def build(self, given: Mapping[str, Any]) -> OptionGroup:
        """Return the group with the values that are given, and defaults for the others."""
        return self.group(
            **{field.name: given[field.name] for field in self.fields if field.name in given}
        )

    def check(self, group: object, function: str) -> None:
        """Raise TypeError if a ready-made group is of another type or sets excluded fields."""
        if not isinstance(group, self.group):
            raise TypeError(
                f"{function}() takes {self.name} as {self.group.__name__}, "
                f"not as {type(group).__name__}"
            )
        for field in fields(self.group):
            if field.name in self.excluded and getattr(group, field.name) != field.default:
                raise TypeError(f"{function}() does not use {field.name!r} of {self.name}")


def group_parameters(function: Callable[..., Any]) -> dict[str, GroupParameter]:
    """Return the parameters of a function that take a group, by name."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        if isinstance(annotation, str):
            # One by one: others may be types that are imported later.
            try:
                annotation = eval(annotation, inspect.unwrap(function).__globals__)
            except NameError:  # a type that is imported for type checkers only is no group
                continue
        excluded: tuple[str, ...] = ()
        if get_origin(annotation) is Annotated:
            annotation, *marks = get_args(annotation)
            excluded = tuple(n for mark in marks if isinstance(mark, Without) for n in mark.names)
        if isinstance(annotation, type) and issubclass(annotation, OptionGroup):
            found[name] = GroupParameter(name, annotation, excluded)
    return found


def flat_keywords(function: Callable[..., R]) -> Callable[..., R]:
    """Let a function take the fields of its groups as keywords, beside ready-made groups.

    The required fields of a group that is a positional parameter are positional too.
    """
    groups = group_parameters(function)
    own = inspect.signature(function)
    flat = _flat_signature(own, groups)
    name = function.__name__

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> R:
        ready = {group: keywords.pop(group) for group in groups if group in keywords}
        for group, value in ready.items():
            groups[group].check(value, name)
        left = _flat_signature(own, groups, leave_out=ready)
        for keyword in keywords.keys() - left.parameters.keys():
            raise TypeError(_unexpected(name, keyword, flat, ready, groups))
        given = left.bind(*args, **keywords).arguments
        made = {
            group: parameter.build(given)
            for group, parameter in groups.items()
            if group not in ready
        }
        rest = {key: value for key, value in given.items() if key in own.parameters}
        return function(**rest, **made, **ready)

    call.__signature__ = flat  # type: ignore[attr-defined]
    call.__doc__ = _document(function, groups)
    return call


def _flat_signature(
    own: inspect.Signature,
    groups: Mapping[str, GroupParameter],
    leave_out: Mapping[str, object] | None = None,
) -> inspect.Signature:
    """Return the signature with the fields of each group in its place."""
    positional: list[inspect.Parameter] = []
    keyword_only: list[inspect.Parameter] = []
    for name, parameter in own.parameters.items():
        is_keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if name not in groups:
            (keyword_only if is_keyword else positional).append(parameter)
        elif name not in (leave_out or {}):
            for field in groups[name].fields:
                is_required = field.default is MISSING
                flat = inspect.Parameter(
                    field.name,
                    parameter.kind if is_required else inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if is_required else field.default,
                    annotation=field.type,
                )
                is_positional = is_required and not is_keyword
                (positional if is_positional else keyword_only).append(flat)
    return own.replace(parameters=[*positional, *keyword_only])


def _unexpected(
    name: str,
    keyword: str,
    flat: inspect.Signature,
    ready: Mapping[str, object],
    groups: Mapping[str, GroupParameter],
) -> str:
    for group in ready:
        if keyword in {field.name for field in groups[group].fields}:
            return f"{name}() got {keyword!r} both as a keyword and in {group}"
    close = difflib.get_close_matches(keyword, flat.parameters, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{name}() got an unexpected keyword argument {keyword!r}{hint}"


def _document(function: Callable[..., Any], groups: Mapping[str, GroupParameter]) -> str:
    """Return the function's docstring, followed by a line for each field of its groups."""
    lines = [inspect.cleandoc(function.__doc__ or ""), "", "Options:"]
    for parameter in groups.values():
        docs = field_docs(parameter.group)
        lines += [f"    {field.name}: {docs[field.name]}" for field in parameter.fields]
    return "\n".join(lines)
