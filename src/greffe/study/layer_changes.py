"""How far each part of a base moved between two states of its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import Field
from torch import Tensor

from greffe.config.recorded import Count
from greffe.config.spec import Spec
from greffe.errors import MismatchError
from greffe.model.weights import BASE

# From the bottom up: the base's names of its parts, and their ids in the catalogs.
_PARTS = {
    "embedding": "embedding",
    "position": "positions",
    "embedding_norm": "embedding_norm",
    "embedding_projection": "embedding_projection",
    "blocks": "block",
    "final_norm": "final_norm",
}
_ORDER = list(_PARTS)


class PartMove(Spec):
    """How far a part of the base moved: |after - before| / |before|."""

    part: str
    tensors: Count
    moved: float = Field(ge=0)


def layer_moves(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> list[PartMove]:
    """Return how far each part of the base moved, from the embedding up.

    One Frobenius norm is taken over all tensors of a part; heads are left out.
    """
    old = {name: tensor for name, tensor in before.items() if name.startswith(BASE)}
    new = {name: tensor for name, tensor in after.items() if name.startswith(BASE)}
    _check_same(old, new)
    parts: dict[tuple[int, int], list[str]] = {}
    for name in old:
        parts.setdefault(_index(name), []).append(name)
    return [
        PartMove(
            part=_title(index),
            tensors=len(names),
            moved=_move([(old[name], new[name]) for name in names]),
        )
        for index, names in sorted(parts.items())
    ]


def _index(name: str) -> tuple[int, int]:
    """Return the position of a tensor's part: the kind of part, and the number of a block."""
    part, *rest = name.removeprefix(BASE).split(".")
    return _ORDER.index(part), int(rest[0]) if part == "blocks" else 0


def _title(index: tuple[int, int]) -> str:
    kind, number = index
    title = _PARTS[_ORDER[kind]]
    return f"{title}_{number + 1}" if title == "block" else title


def _move(pairs: list[tuple[Tensor, Tensor]]) -> float:
    moved = math.hypot(*(float((new.double() - old.double()).norm()) for old, new in pairs))
    size = math.hypot(*(float(old.double().norm()) for old, _ in pairs))
    if not moved:
        return 0.0
    return moved / size if size else math.inf


def _check_same(old: Mapping[str, Tensor], new: Mapping[str, Tensor]) -> None:
    shapes = [{name: tuple(tensor.shape) for name, tensor in side.items()} for side in (old, new)]
    if old and shapes[0] == shapes[1]:
        return
    differing = sorted(name for name, _ in shapes[0].items() ^ shapes[1].items())
    raise MismatchError(
        "These are not two states of one base.",
        expected="base tensors of the same names and shapes",
        found=f"{differing[0]} differs or is missing" if differing else "no base tensor",
    )
