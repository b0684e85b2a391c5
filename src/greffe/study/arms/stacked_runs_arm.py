"""The stacked model with the class scores of other runs as further features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from greffe.run import RunDirectory
from greffe.study.arms.arm import AskedArms, register
from greffe.study.arms.linear_fit import LinearArm


@register
@dataclass(frozen=True)
class StackedRunsArm(LinearArm):
    """TF-IDF, a base's features and the class scores of feature runs with logistic regression."""

    kind: ClassVar[str] = "stacked+runs"
    order: ClassVar[int] = 8
    style_slot: ClassVar[int] = 8
    weight_per_label: ClassVar[float] = 0.3
    compared_with: ClassVar[tuple[str, ...]] = ("tfidf", "stacked")
    uses_weights: ClassVar[bool] = True
    keeps_run: ClassVar[bool] = True

    asked_runs: tuple[RunDirectory, ...] = ()

    @classmethod
    def planned(cls, asked: AskedArms) -> list[Self]:
        """Return one arm, if there are feature runs."""
        runs = tuple(asked.feature_runs)
        return [cls(cls.kind, asked.base, runs)] if runs else []

    @property
    def feature_runs(self) -> tuple[RunDirectory, ...]:
        """Runs whose class scores are features of this arm."""
        return self.asked_runs
