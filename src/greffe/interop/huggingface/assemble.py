"""From the tensors of a file to a base with its heads: names and shapes are checked first.

Nothing is read before everything fits: the parts are joined on the meta device, with the shapes of
the file's header, and compared with a model of the recipe's shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import torch
from torch import Tensor

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec
from greffe.errors import MismatchError
from greffe.interop.huggingface.family import Layout, Parts
from greffe.model.model import empty_model
from greffe.model.tensor_header import Shape

OLDER_NAMES = {"weight": "gamma", "bias": "beta"}
PUBLISHED = ("base.", "heads.pooled.")
"""What the number of parameters counts that is published for a model."""


@dataclass(frozen=True)
class Plan:
    """Which tensors of a file make which tensors of greffe."""

    heads: dict[str, HeadSpec]
    parts: Parts
    """By name in the model's state dict; sources are names of the file."""
    left: list[str]
    """Tensors of the file that are not used."""

    def published(self, shapes: Mapping[str, Shape]) -> int:
        """Return the parameters of the file that the base and its pooler are made of."""
        own = [part for name, part in self.parts.items() if name.startswith(PUBLISHED)]
        sources = {source for part in own for source in part.sources}
        return sum(math.prod(shapes[source]) for source in sources)

    def read(self, load: Callable[[str], Tensor]) -> Iterator[tuple[str, Tensor]]:
        """Yield the tensors of the model in single precision, in the order of their names.

        `load` reads one of the file by its name.
        """
        for name, part in sorted(self.parts.items()):
            tensor = part.join(*(load(source).float() for source in part.sources))
            yield name, tensor.contiguous()


def plan_tensors(
    layout: Layout,
    prefix: str,
    model: ModelSpec,
    vocab: int,
    shapes: Mapping[str, Shape],
    file: str,
    *,
    hint: str = "check that config.json and the weights belong together",
) -> Plan:
    """Match a layout with the tensors of a file; an error names what is missing or does not fit."""
    has_prefix = any(name.startswith(prefix) for name in shapes)
    others = {
        name: other for head in layout.heads.values() for name, other in head.other_names.items()
    }

    def prefixed(name: str) -> str:
        """Return a name with the prefix of this file: one without heads has none."""
        return name if has_prefix else name.removeprefix(prefix)

    def actual(name: str) -> str:
        """Return the name of a source in this file, or its usual one if the file has it not."""
        usual = prefixed(name)
        names = (usual, _older_name(usual), others.get(name, usual))
        return next((name for name in names if name in shapes), usual)

    parts = _renamed("base.", layout.base, actual)
    heads: dict[str, HeadSpec] = {}
    copies: set[str] = set()
    for kind, head in layout.heads.items():
        own = _renamed(f"heads.{kind}.", head.parts, actual)
        if all(source in shapes for part in own.values() for source in part.sources):
            heads[kind] = head.spec
            parts |= own
            copies |= {prefixed(name) for name in head.copies}
    used = {source for part in parts.values() for source in part.sources}
    patterns = [prefixed(pattern) for pattern in layout.ignored]
    left = [name for name in shapes if name not in used]
    unknown = [
        name
        for name in left
        if name not in copies and not any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    problems = [f"{name} is missing" for name in sorted(used - shapes.keys())]
    problems += [f"{name} is not part of this architecture" for name in unknown]
    if not problems:
        problems = _shape_problems(parts, empty_model(model, vocab, heads).state_dict(), shapes)
    if problems:
        more = f" … and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise MismatchError(
            f"The weights of {file} do not fit its configuration.",
            expected=f"every tensor of a {model.family} model of this shape, and no others",
            found="; ".join(problems[:3]) + more,
            hint=hint,
        )
    return Plan(heads, parts, left)


def _older_name(name: str) -> str:
    """Return the name of a norm's tensor in files of the first years: gamma and beta."""
    stem, _, kind = name.rpartition(".")
    return f"{stem}.{OLDER_NAMES.get(kind, kind)}"


def _renamed(prefix: str, parts: Parts, actual: Callable[[str], str]) -> Parts:
    return {
        f"{prefix}{name}": replace(part, sources=tuple(map(actual, part.sources)))
        for name, part in parts.items()
    }


def _shape_problems(
    parts: Parts, expected: Mapping[str, Tensor], shapes: Mapping[str, Shape]
) -> list[str]:
    """Return what is wrong with the shapes, found by joining tensors without memory."""
    assert parts.keys() == expected.keys(), parts.keys() ^ expected.keys()
    problems = []
    for name, part in parts.items():
        sources = [torch.empty(shapes[source], device="meta") for source in part.sources]
        try:
            found = tuple(part.join(*sources).shape)
        except (RuntimeError, IndexError):
            found = None
        if found != expected[name].shape:
            given = ", ".join(f"{source} {shapes[source]}" for source in part.sources)
            problems.append(f"{given}: {name} has shape {tuple(expected[name].shape)}")
    return problems
