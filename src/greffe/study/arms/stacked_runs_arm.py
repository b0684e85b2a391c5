"""The stacked model with the class scores of other runs as further features."""

from __future__ import annotations

from typing import Self

from greffe.study.arms.arm import ArmOptions, register
from greffe.study.arms.linear_fit import LinearArm


@register
class StackedRunsArm(LinearArm):
    """TF-IDF, a base's features and the class scores of feature runs with logistic regression."""

    kind = "stacked+runs"
    order = 8
    style_slot = 8
    weight_per_label = 0.3
    compared_with = ("tfidf", "stacked")
    uses_weights = True
    keeps_run = True

    @classmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
        """Return one arm, if there are feature runs."""
        runs = tuple(options.feature_runs)
        return [cls(cls.kind, options.base, runs)] if runs else []
