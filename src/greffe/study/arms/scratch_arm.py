"""The same architecture trained on the labels alone."""

from __future__ import annotations

from typing import Self

from greffe.study.arms.arm import ArmOptions, register
from greffe.study.arms.finetuned import FinetunedArm


@register
class ScratchArm(FinetunedArm):
    """The base's architecture with random weights, all of them trained."""

    kind = "scratch"
    order = 1
    style_slot = 1

    @classmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
        """Return one arm, in every study."""
        return [cls(cls.kind, options.base)]
