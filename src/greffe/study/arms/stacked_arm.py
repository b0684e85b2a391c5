"""TF-IDF and the features of the untouched base in one linear model."""

from __future__ import annotations

from typing import ClassVar, Self

from greffe.study.arms.arm import AskedArms, register
from greffe.study.arms.linear_fit import LinearArm


@register
class StackedArm(LinearArm):
    """TF-IDF and a base's features with logistic regression."""

    kind: ClassVar[str] = "stacked"
    order: ClassVar[int] = 6
    style_slot: ClassVar[int] = 5
    weight_per_label: ClassVar[float] = 0.2
    compared_with: ClassVar[tuple[str, ...]] = ("tfidf", "pretrained")
    uses_weights: ClassVar[bool] = True
    keeps_run: ClassVar[bool] = True

    @classmethod
    def planned(cls, asked: AskedArms) -> list[Self]:
        """Return one arm, in every study."""
        return [cls(cls.kind, asked.base)]
