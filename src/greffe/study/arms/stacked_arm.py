"""TF-IDF and the features of the untouched base in one linear model."""

from __future__ import annotations

from typing import Self

from greffe.study.arms.arm import ArmOptions, register
from greffe.study.arms.linear_fit import LinearArm


@register
class StackedArm(LinearArm):
    """TF-IDF and a base's features with logistic regression."""

    kind = "stacked"
    order = 6
    style_slot = 5
    weight_per_label = 0.2
    compared_with = ("tfidf", "pretrained")
    uses_weights = True
    keeps_run = True

    @classmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
        """Return one arm, in every study."""
        return [cls(cls.kind, options.base)]
