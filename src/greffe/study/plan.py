"""The request for a study, and what follows from it: arms, trainings and comparisons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from greffe.config.bounds import Seed, Trainings, check_number
from greffe.config.options import STUDY_SEEDS, Reading, Tables, Training
from greffe.errors import RecipeError, quote
from greffe.pipelines.labelled import table_paths
from greffe.run import RunDirectory
from greffe.study.arms import ARMS, ArmOptions, Cell, PlannedArm, TrainedArm
from greffe.study.arms.frozen_arm import SUFFIX as FROZEN_SUFFIX
from greffe.study.parts import Parts

LONGEST_NAME = 50
"""Characters of an arm's name, which is part of the names of files."""
_NAME = re.compile(rf"[\w.-]{{1,{LONGEST_NAME}}}")


@dataclass(frozen=True, kw_only=True)
class StudyRequest:
    """All options of a study."""

    arms: ArmOptions
    tables: Tables
    corpus: Sequence[str | Path] = ()
    """Pretraining text, searched for the test texts."""
    reading: Reading = field(default_factory=Reading)
    seeds: int | Sequence[int] = STUDY_SEEDS
    """How many trainings of each arm, or their seeds."""
    labels: Sequence[int] = ()
    """Numbers of training labels to try in addition to all of them."""
    training: Training = field(default_factory=Training)
    """How the transformers are fine-tuned: its recipe, budget and changes."""
    keep_runs: bool = False
    """Keep the weights of every training, not only the best of each arm."""

    @property
    def paths(self) -> list[str | Path]:
        """All tables and text that are read from disk."""
        return [*table_paths(self.tables), *self.corpus]

    @property
    def sources(self) -> list[str | Path]:
        """All runs, tables and text that are read from disk."""
        runs = (self.arms.base, *self.arms.others.values(), *self.arms.feature_runs)
        return [*(run.path for run in runs), *self.paths]

    @property
    def seed_numbers(self) -> list[int]:
        """The seeds of the trainings."""
        seeds = self.seeds
        if isinstance(seeds, int):
            check_number("seeds", seeds, Trainings, example="--seeds 8")
            return list(range(1, seeds + 1))
        numbers = list(seeds)
        check_number("number of seeds", len(numbers), Trainings, example="seeds=[1, 2, 3]")
        for number in numbers:
            check_number("seeds", number, Seed, example="seeds=[1, 2, 3]")
        if len(set(numbers)) != len(numbers):
            raise RecipeError(
                "These seeds cannot be used.", expected="different numbers", found=quote(numbers)
            )
        return numbers


def plan_arms(options: ArmOptions) -> list[PlannedArm]:
    """Return the arms of all kinds that a study has, in the order of its report."""
    _check_names(options.others)
    arms: list[PlannedArm] = [arm for kind in ARMS.values() for arm in kind.planned(options)]
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
    """Return the names of the arms that are shown on single texts and with more labels."""
    return [arm.name for arm in arms if arm.is_detailed and arm.is_usual]


def presented_bases(arms: Sequence[PlannedArm]) -> dict[str, RunDirectory]:
    """Return the bases that a report presents, by the names of their arms; the study's is first."""
    return {arm.name: arm.run for arm in arms if arm.presents_base and arm.run is not None}


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if not _NAME.fullmatch(name) or name in ARMS or name.endswith(FROZEN_SUFFIX):
            raise RecipeError(
                f"{quote(name)} is not a valid name for an arm.",
                expected=f"at most {LONGEST_NAME} letters, digits, dots and dashes, other than "
                + ", ".join(ARMS),
                hint="for example --arm causal=runs/causal",
            )
