"""How series are distinguished: a class for color and dash, and a marker. Knows no colors.

Colors are in the style sheet as `--series-1` to `--series-14`; each slot has its own marker and
dash, so that nothing hangs on colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greffe.report.charts.shapes import distinct_kinds
from greffe.report.charts.svg import coordinate, element
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

    def marker(self, x: float, y: float, radius: float = 4.0) -> str:
        """The slot's sign around a place."""
        corners = _CORNERS[self.slot]
        if not corners:
            return element("circle", class_="marker", cx=x, cy=y, r=radius)
        places = " ".join(
            f"{coordinate(x + dx * radius)},{coordinate(y + dy * radius)}" for dx, dy in corners
        )
        return element("polygon", class_="marker", points=places)


def styles_of(kinds: Sequence[str]) -> list[Style]:
    """A style for each series: arms have their own, others take what is free, in order."""
    unique = distinct_kinds(kinds)
    free = [slot for slot in range(SLOTS) if slot not in {ARM_SLOTS.get(kind) for kind in unique}]
    result = []
    for index, kind in enumerate(unique):
        slot = ARM_SLOTS.get(kind)
        if slot is None:
            wanted = _wanted_slot(kind)
            slot = wanted if wanted in free else free[0] if free else index % SLOTS
            free = [other for other in free if other != slot]
        result.append(Style(slot))
    return result


def _wanted_slot(kind: str) -> int | None:
    """Return the slot of a run, or of a second arm of one kind, the same in all charts."""
    arm, _, number = kind.rpartition("-")
    if arm == "run":
        return int(number) % SLOTS
    if arm not in ARM_SLOTS or not number.isdecimal():
        return None
    return SPARE[int(number) % len(SPARE)]
