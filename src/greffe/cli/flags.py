"""Flags: option groups as options of the command line, and single options that verbs share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field
from functools import wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from greffe.config.bounds import FractionBelowOne, bounds_of
from greffe.config.field_docs import field_docs
from greffe.config.option_groups import Flag, group_parameters
from greffe.config.options import LongTexts

_PATHS = {"Examples": Path, "Recipe": Path, "RunDirectory": Path, "Tokenizer": Path}
"""Types of fields that only Python callers can pass; on the command line they are paths."""


def number(kind: Any, *names: str, help: str) -> Any:
    """Return an option whose range is that of a bounded type; of another type, a plain option."""
    bounds = bounds_of(kind)
    if bounds is None:
        return typer.Option(*names, help=help)
    return typer.Option(*names, help=help, min=bounds.low, max=bounds.high)


RunPath = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run's folder, greffe-fr or hf:owner/name.")
]
ModelPath = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="A run's folder, greffe-fr, hf:owner/name, or an exported ONNX folder."
    ),
]
Language = Literal["en", "fr"]
Valid = Annotated[
    float, number(FractionBelowOne, "--valid", help="Fraction of documents to hold out.")
]
Corpus = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus",
        help="Pretraining text or corpus, searched for the test texts. Repeatable.",
    ),
]
FeatureRuns = Annotated[
    list[Path] | None,
    typer.Option(
        "--features-from",
        help="A run that labels texts; its class scores become features. Repeatable.",
    ),
]
Unlabelled = Annotated[
    list[str] | None,
    typer.Option(help="Texts without labels: files, folders. Repeatable."),
]
Long = Annotated[
    LongTexts,
    typer.Option("--long", help="Texts longer than the context: read in windows, or cut."),
]
Calibrated = Annotated[
    bool,
    typer.Option("--calibrated", help="Probabilities with the temperature of greffe calibrate."),
]
ReportLanguage = Annotated[Language, typer.Option("--language", help="Language of the report.")]
StartAgain = Annotated[bool, typer.Option("--overwrite", help="Start again instead of resuming.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def expand_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Turn the fields of a command's option groups into options; the docstrings are the help."""
    groups = group_parameters(function)
    signature = inspect.signature(function, eval_str=True)
    parameters: list[inspect.Parameter] = []
    parsers: dict[str, Callable[[Any], Any]] = {}
    for name, parameter in signature.parameters.items():
        if name in groups:
            group = groups[name].group
            hints = get_type_hints(group, localns=_PATHS, include_extras=True)
            docs = field_docs(group)
            for field in groups[name].fields:
                hint, flag = _split(hints[field.name])
                parameters.append(_parameter(field, hint, flag, docs[field.name]))
                if flag.parse is not None:
                    parsers[field.name] = flag.parse
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(function)
    def command(**given: Any) -> None:
        chosen = {
            name: parsers[name](value) if name in parsers else value
            for name, value in given.items()
            if value is not None
        }
        made = {name: group.build(chosen) for name, group in groups.items()}
        rest = {name: value for name, value in given.items() if name in signature.parameters}
        function(**rest, **made)

    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _split(hint: Any) -> tuple[Any, Flag]:
    """Return a field's type and its flag."""
    match get_args(hint) if get_origin(hint) is Annotated else ():
        case (kind, Flag() as flag):
            return kind, flag
    return hint, Flag()


def _parameter(field: Field[Any], hint: Any, flag: Flag, help_text: str) -> inspect.Parameter:
    """Return the typer option of a field."""
    name = flag.name or f"--{field.name.replace('_', '-')}"
    kind = flag.words or cli_type(hint)
    if kind is bool and field.default is True:
        name = f"{name}/--no-{name.removeprefix('--')}"
    option = number(hint, name, help=help_text)
    default: Any = None if flag.parse or get_origin(kind) is list else field.default
    if field.default is MISSING:
        default = inspect.Parameter.empty
    elif default is None:
        kind = kind | None
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option],
    )


def cli_type(hint: Any) -> Any:
    """Return the type that a flag is parsed to, for the type of a field."""
    kinds = [kind for kind in _members(hint) if kind is not NoneType]
    for kind in (Path, bool, int):
        if kind in kinds:
            return kind
    (kind,) = kinds
    if get_origin(kind) is Sequence:
        return list[cli_type(get_args(kind)[0])]  # type: ignore[misc]
    return kind


def _members(hint: Any) -> Sequence[Any]:
    """Return the types of a union, without what bounds them."""
    if get_origin(hint) is Annotated:
        return _members(get_args(hint)[0])
    is_union = get_origin(hint) in (Union, UnionType)
    return [kind for part in get_args(hint) for kind in _members(part)] if is_union else [hint]
