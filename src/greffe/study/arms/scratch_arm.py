"""The same architecture trained on the labels alone."""

from __future__ import annotations

from typing import ClassVar, Self

from greffe.study.arms.arm import AskedArms, register
from greffe.study.arms.finetuned import FinetunedArm


@register
class ScratchArm(FinetunedArm):
    """The base's architecture with random weights, fine-tuned whole."""

    kind: ClassVar[str] = "scratch"
    order: ClassVar[int] = 1
    style_slot: ClassVar[int] = 1
    compared_with: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def planned(cls, asked: AskedArms) -> list[Self]:
        """Return one arm, in every study."""
        return [cls(cls.kind, asked.base)]
