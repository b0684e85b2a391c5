"""How series are distinguished: a class for color and dash, and a marker. Knows no colors.

Colors are in the style sheet as `--series-1` to `--series-14`; each slot has its own marker and
dash, so that charts can be read without color.

A `kind` chooses the slot: an arm's kind, `pretrained-2` for the second arm of that kind (see
`distinct_kinds`), or any other name, which then takes the next free slot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from greffe.study.arms import ARMS

ARM_SLOTS = {kind: arm.style_slot for kind, arm in ARMS.items()}
SLOTS = 14
SPARE = [slot for slot in range(SLOTS) if slot not in ARM_SLOTS.values()]

# Corners of each slot's marker, for a radius of one; none is a circle.
_CORNERS: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.15), (1.1, 0.85), (-1.1, 0.85)),
    ((-1.3, -0.35), (1.3, -0.35), (1.3, 0.35), (-1.3, 0.35)),
    ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    ((0, 1.15), (1.1, -0.85), (-1.1, -0.85)),
    ((-0.6, -1.2), (0.6, -1.2), (1.2, 0), (0.6, 1.2), (-0.6, 1.2), (-1.2, 0)),
    ((-0.45, -1.3), (0.45, -1.3), (0.45, 1.3), (-0.45, 1.3)),
    (
        *((-0.4, -1.3), (0.4, -1.3), (0.4, -0.4), (1.3, -0.4), (1.3, 0.4), (0.4, 0.4)),
        *((0.4, 1.3), (-0.4, 1.3), (-0.4, 0.4), (-1.3, 0.4), (-1.3, -0.4), (-0.4, -0.4)),
    ),
    ((-1.1, -1.15), (1.1, -1.15), (-1.1, 1.15), (1.1, 1.15)),
    ((-1.3, -0.9), (0.4, -0.9), (1.3, 0), (0.4, 0.9), (-1.3, 0.9)),
    ((1.3, -0.9), (-0.4, -0.9), (-1.3, 0), (-0.4, 0.9), (1.3, 0.9)),
    ((-1.2, -1.1), (1.2, 0), (-1.2, 1.1)),
    ((-0.7, -1.1), (1.3, -1.1), (0.7, 1.1), (-1.3, 1.1)),
)


@dataclass(frozen=True)
class Style:
    """One of the slots."""

    slot: int

    @property
    def class_name(self) -> str:
        return f"s{self.slot + 1}"

    @property
    def corners(self) -> tuple[tuple[float, float], ...]:
        return _CORNERS[self.slot]


def distinct_kinds(kinds: Iterable[str]) -> list[str]:
    """Make kinds unique by a number, so that an arm has the same color in all charts."""
    seen: Counter[str] = Counter()
    result = []
    for kind in kinds:
        seen[kind] += 1
        result.append(kind if seen[kind] == 1 else f"{kind}-{seen[kind]}")
    return result


def styles_of(kinds: Sequence[str]) -> list[Style]:
    """Return a style for each series: arms have their own, others take the free ones, in order."""
    unique = distinct_kinds(kinds)
    free = [slot for slot in range(SLOTS) if slot not in {ARM_SLOTS.get(kind) for kind in unique}]
    result = []
    for index, kind in enumerate(unique):
        slot = ARM_SLOTS.get(kind)
        if slot is None:
            preferred = _preferred_slot(kind)
            slot = preferred if preferred in free else free[0] if free else index % SLOTS
            free = [other for other in free if other != slot]
        result.append(Style(slot))
    return result


def _preferred_slot(kind: str) -> int | None:
    """Return the slot of a run, or of a second arm of one kind, the same in all charts."""
    arm, _, number = kind.rpartition("-")
    if arm == "run":
        return int(number) % SLOTS
    if arm not in ARM_SLOTS or not number.isdecimal():
        return None
    return SPARE[int(number) % len(SPARE)]
