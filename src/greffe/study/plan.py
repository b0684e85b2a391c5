"""What a study will do: its arms, and one cell for each arm, number of labels and seed.

Knows nothing of how a cell is computed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from greffe.errors import RecipeError
from greffe.run import RunDirectory
from greffe.study.document import ArmKind
from greffe.study.parts import Parts

PRETRAINED, SCRATCH = "pretrained", "scratch"
MAJORITY, TFIDF, STACKED = "majority", "tfidf", "stacked"
ENSEMBLE, STACKED_RUNS, TFIDF_AUX = "ensemble", "stacked+runs", "tfidf+aux"
LINEAR: tuple[ArmKind, ...] = ("majority", "tfidf", "stacked", "stacked+runs", "tfidf+aux")
READ_CLOSELY = (PRETRAINED, SCRATCH, TFIDF, STACKED, ENSEMBLE, STACKED_RUNS, TFIDF_AUX)
"""Arms, where a study has them, that are asked about single texts and more labels."""
_RESERVED: tuple[str, ...] = get_args(ArmKind)
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class ArmPlan:
    """One way to a classifier; `run` lends its base or, to a scratch arm, its shape."""

    name: str
    kind: ArmKind
    run: RunDirectory | None
    feature_runs: tuple[RunDirectory, ...] = ()
    """Runs that are asked about each text."""
    auxiliary: int = 0
    """Labelled texts of others that are learnt from too."""

    @property
    def is_linear(self) -> bool:
        """Whether it is one linear model, the same for any seed."""
        return self.kind in LINEAR


@dataclass(frozen=True)
class Cell:
    """An arm with so many labels and a seed: one training, or what a blended arm makes of two."""

    arm: ArmPlan
    labels: int
    seed: int
    is_full: bool
    """Whether it uses every label there is."""

    @property
    def name(self) -> str:
        """Its file's name."""
        return f"{self.arm.name}-{'all' if self.is_full else self.labels}-{self.seed}"

    @property
    def weight(self) -> float:
        """How long it takes beside others, roughly."""
        share = {
            "majority": 0.0,
            "tfidf": 0.1,
            "tfidf+aux": 0.1,
            "stacked": 0.2,
            "stacked+runs": 0.3,
            "frozen": 0.4,
        }
        return 1 + self.labels * share.get(self.arm.kind, 1.0) + 0.02 * self.arm.auxiliary


def plan_arms(
    base: RunDirectory,
    others: Mapping[str, RunDirectory],
    *,
    frozen: bool,
    feature_runs: Sequence[RunDirectory] = (),
    auxiliary: int = 0,
) -> list[ArmPlan]:
    """The base and the same from scratch, further runs, frozen ones if asked for, linear models
    and the blend of the base with TF-IDF."""
    for name in others:
        if not _NAME.fullmatch(name) or name in _RESERVED or name.endswith("-frozen"):
            raise RecipeError(
                f"An arm cannot be called {name!r}.",
                expected="a name of letters, digits, dots and dashes, other than "
                + ", ".join(_RESERVED),
                hint="for example --arm causal=runs/causal",
            )
    arms = [ArmPlan(PRETRAINED, "pretrained", base), ArmPlan(SCRATCH, "scratch", base)]
    arms += [ArmPlan(name, "pretrained", run) for name, run in others.items()]
    if frozen:
        arms.append(ArmPlan("frozen", "frozen", base))
        arms += [ArmPlan(f"{name}-frozen", "frozen", run) for name, run in others.items()]
    arms.append(ArmPlan(MAJORITY, "majority", None))
    arms.append(ArmPlan(TFIDF, "tfidf", None))
    arms.append(ArmPlan(STACKED, "stacked", base))
    arms.append(ArmPlan(ENSEMBLE, "ensemble", base))
    if feature_runs:
        arms.append(ArmPlan(STACKED_RUNS, "stacked+runs", base, tuple(feature_runs)))
    if auxiliary:
        arms.append(ArmPlan(TFIDF_AUX, "tfidf+aux", None, auxiliary=auxiliary))
    return arms


def plan_cells(
    arms: Sequence[ArmPlan], labels: Sequence[int], seeds: Sequence[int], parts: Parts
) -> list[Cell]:
    """The trainings. All labels first, seed by seed: stopped early, what is done is paired.

    A linear model on all labels has nothing that a seed could change: one cell is enough. What a
    blended arm says follows from other cells.
    """
    counts = sorted({*labels, parts.labelled}, reverse=True)
    return [
        Cell(arm, count, seed, count == parts.labelled)
        for count in counts
        for seed in seeds
        for arm in arms
        if arm.kind != "ensemble"
        and not (arm.is_linear and count == parts.labelled and seed != seeds[0])
    ]


def planned_comparisons(arms: Sequence[ArmPlan]) -> list[tuple[str, str]]:
    """Which arms are held against which; the first pair is the study's question."""
    pairs = [(PRETRAINED, SCRATCH), (PRETRAINED, TFIDF)]
    pairs += [
        (arm.name, PRETRAINED)
        for arm in arms
        if arm.kind in ("pretrained", "frozen") and arm.name != PRETRAINED
    ]
    pairs += [(STACKED, TFIDF), (STACKED, PRETRAINED), (ENSEMBLE, TFIDF)]
    if any(arm.name == STACKED_RUNS for arm in arms):
        pairs += [(STACKED_RUNS, TFIDF), (STACKED_RUNS, STACKED)]
    if any(arm.name == TFIDF_AUX for arm in arms):
        pairs += [(TFIDF_AUX, TFIDF), (TFIDF_AUX, PRETRAINED)]
    return pairs
