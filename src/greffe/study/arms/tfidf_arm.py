"""TF-IDF with logistic regression: the baseline that a pretraining has to beat."""

from __future__ import annotations

from typing import ClassVar, Self

from greffe.study.arms.arm import AskedArms, register
from greffe.study.arms.linear_fit import LinearArm


@register
class TfidfArm(LinearArm):
    """TF-IDF of words and characters with logistic regression."""

    kind: ClassVar[str] = "tfidf"
    order: ClassVar[int] = 5
    style_slot: ClassVar[int] = 4
    weight_per_label: ClassVar[float] = 0.1
    compared_with: ClassVar[tuple[str, ...]] = ()
    is_baseline: ClassVar[bool] = True

    @classmethod
    def planned(cls, asked: AskedArms) -> list[Self]:
        """Return one arm, in every study."""
        return [cls(cls.kind)]
