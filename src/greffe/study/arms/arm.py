"""What every arm of a study declares, and the registry of the kinds of arms.

An arm is one way to a classifier. Its module declares everything about it: when it takes part, what
its result depends on, how it is computed, what it is compared with, and its style in the report.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from greffe.run import RunDirectory
from greffe.study.folder import CellResult

if TYPE_CHECKING:
    from greffe.study.cell_inputs import CellInputs

ARMS: dict[str, type[PlannedArm]] = {}
"""Every kind of arm in the order of a report; importing `greffe.study.arms` fills it."""


@dataclass(frozen=True, kw_only=True)
class ArmOptions:
    """The runs and options that determine the arms of a study."""

    base: RunDirectory
    """The run whose pretraining is in question."""
    others: Mapping[str, RunDirectory] = field(default_factory=dict)
    """Further runs to compare, by the name of their arm."""
    frozen: bool = False
    """Also fine-tune with each base frozen."""
    feature_runs: Sequence[RunDirectory] = ()
    """Runs whose class scores become features."""
    auxiliary_texts: int = 0
    """How many auxiliary labelled texts there are."""


@dataclass(frozen=True)
class PlannedArm(ABC):
    """One arm of a study; `run` provides its base or, for an arm from scratch, its architecture."""

    kind: ClassVar[str]
    """The name of this kind, unique among all kinds; the usual arm of a kind is called the same."""
    order: ClassVar[int]
    """Position among the kinds, in plans and reports; lower comes first."""
    style_slot: ClassVar[int]
    """Color, dash and marker in the charts, unique among all kinds."""
    weight_per_label: ClassVar[float]
    """Rough duration of one training per label; 1 for a full fine-tuning."""
    compared_with: ClassVar[tuple[str, ...]] = ()
    """Names of the arms that the usual arm of this kind is compared with."""
    uses_weights: ClassVar[bool] = False
    """Whether the weights of `run` take part, rather than its architecture alone."""
    presents_base: ClassVar[bool] = False
    """Whether the report shows the parameters, samples and probe of its run."""
    is_detailed: ClassVar[bool] = True
    """Whether the report shows the usual arm of this kind on single texts and with more labels."""
    is_baseline: ClassVar[bool] = False
    """Whether it comes first in the verdict if it beats the pretrained arm."""
    is_constant: ClassVar[bool] = False
    """Whether it predicts the same class for every text by design."""
    is_deterministic: ClassVar[bool] = False
    """Whether the seed changes nothing, except which texts are drawn where labels are few."""

    name: str
    run: RunDirectory | None = None
    feature_runs: tuple[RunDirectory, ...] = ()
    """Runs whose class scores are features of this arm."""

    @classmethod
    @abstractmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
        """Return the arms of this kind that a study has."""

    @property
    def is_usual(self) -> bool:
        """Whether it is the arm of its kind that is named after the kind."""
        return self.name == self.kind

    @property
    def position(self) -> int:
        """Position in the plan; arms of equal position keep the order in which they are planned."""
        return self.order

    @property
    def opponents(self) -> tuple[str, ...]:
        """Names of the arms that it is compared with, where a study has them."""
        return self.compared_with

    @property
    def shares(self) -> str | None:
        """What its cells keep in memory for cells of the same name, if anything."""
        return None

    def weight(self, labels: int) -> float:
        """Return how long a training with so many labels takes relative to others, roughly."""
        return 1 + labels * self.weight_per_label


@dataclass(frozen=True)
class Cell:
    """An arm with a number of labels and a seed: one training, or what is derived from others."""

    arm: PlannedArm
    labels: int
    seed: int
    is_full: bool
    """Whether it uses every label there is."""

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.arm.name}-{'all' if self.is_full else self.labels}-{self.seed}"

    @property
    def weight(self) -> float:
        """How long it takes relative to others, roughly."""
        return self.arm.weight(self.labels)


class TrainedArm(PlannedArm):
    """An arm whose cells are trainings of their own."""

    @abstractmethod
    def key_inputs(self, inputs: CellInputs, seed: int) -> list[object]:
        """Return what a result depends on apart from the labelled texts, as JSON values."""

    @abstractmethod
    def compute(self, cell: Cell, inputs: CellInputs, folder: Path, *, resume: bool) -> CellResult:
        """Train and test; a run is written to `folder`, where an interrupted one is resumed."""


class DerivedArm(PlannedArm):
    """An arm whose results follow from those of other arms: nothing is trained or kept on disk."""

    @abstractmethod
    def derive(self, trained: Mapping[Cell, CellResult]) -> dict[Cell, CellResult]:
        """Return the results of all its cells."""


Class = TypeVar("Class", bound=type[PlannedArm])


def register(arm: Class) -> Class:
    """Add a class to the registry under its kind."""
    if arm.kind in ARMS:
        raise ValueError(f"two arms of kind {arm.kind!r}")
    ARMS[arm.kind] = arm
    return arm
