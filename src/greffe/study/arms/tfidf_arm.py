"""TF-IDF with logistic regression: the baseline that a pretraining has to beat."""

from __future__ import annotations

from typing import Self

from greffe.study.arms.arm import ArmOptions, register
from greffe.study.arms.linear_fit import LinearArm


@register
class TfidfArm(LinearArm):
    """TF-IDF of words and characters with logistic regression."""

    kind = "tfidf"
    order = 5
    style_slot = 4
    weight_per_label = 0.1
    is_baseline = True

    @classmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
        """Return one arm, in every study."""
        return [cls(cls.kind)]
