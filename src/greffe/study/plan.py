"""What a study will do: its arms, its trainings and its comparisons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from greffe.errors import RecipeError
from greffe.study.arms import ARMS, AskedArms, Cell, PlannedArm, TrainedArm
from greffe.study.arms.frozen_arm import SUFFIX as FROZEN_SUFFIX
from greffe.study.parts import Parts

_NAME = re.compile(r"[\w.-]+")


def plan_arms(asked: AskedArms) -> list[PlannedArm]:
    """Return the arms of all kinds that a study has, in the order of its report."""
    _check_names(asked.others)
    arms: list[PlannedArm] = [arm for kind in ARMS.values() for arm in kind.planned(asked)]
    return sorted(arms, key=lambda arm: arm.position)


def plan_cells(
    arms: Sequence[PlannedArm], labels: Sequence[int], seeds: Sequence[int], parts: Parts
) -> list[Cell]:
    """Return the trainings, all labels first, seed by seed: stopped early, what is done is paired.

    A deterministic arm with all labels needs one seed.
    """
    counts = sorted({*labels, parts.labelled}, reverse=True)
    return [
        Cell(arm, count, seed, count == parts.labelled)
        for count in counts
        for seed in seeds
        for arm in arms
        if isinstance(arm, TrainedArm)
        and not (arm.is_deterministic and count == parts.labelled and seed != seeds[0])
    ]


def planned_comparisons(arms: Sequence[PlannedArm]) -> list[tuple[str, str]]:
    """Return the pairs of arms to compare; the first is the study's question."""
    names = {arm.name for arm in arms}
    return [(arm.name, other) for arm in arms for other in arm.opponents if other in names]


def detailed_arms(arms: Sequence[PlannedArm]) -> list[str]:
    """Return the names of the arms that are asked about single texts and about more labels."""
    return [arm.name for arm in arms if arm.is_detailed and arm.is_usual]


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if not _NAME.fullmatch(name) or name in ARMS or name.endswith(FROZEN_SUFFIX):
            raise RecipeError(
                f"{name!r} is not a valid name for an arm.",
                expected="a name of letters, digits, dots and dashes, other than "
                + ", ".join(ARMS),
                hint="for example --arm causal=runs/causal",
            )
