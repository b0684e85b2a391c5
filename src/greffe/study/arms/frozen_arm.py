"""A pretrained base that stays as it is, with a trained classifier on top."""

from __future__ import annotations

from typing import ClassVar, Self

from greffe.study.arms.arm import AskedArms, register
from greffe.study.arms.finetuned import FinetunedArm

SUFFIX = "-frozen"


@register
class FrozenArm(FinetunedArm):
    """A frozen base; only the classifier's head learns."""

    kind: ClassVar[str] = "frozen"
    order: ClassVar[int] = 3
    style_slot: ClassVar[int] = 2
    weight_per_label: ClassVar[float] = 0.4
    compared_with: ClassVar[tuple[str, ...]] = ("pretrained",)
    uses_weights: ClassVar[bool] = True
    is_detailed: ClassVar[bool] = False
    # A head alone is a small convex problem: it takes a rate that would ruin a base.
    changes: ClassVar[tuple[str, ...]] = ("train.freeze=base", "train.lr=0.01")

    @classmethod
    def planned(cls, asked: AskedArms) -> list[Self]:
        """Return one arm for the base and each further run, if frozen arms are asked for."""
        if not asked.frozen:
            return []
        others = (cls(f"{name}{SUFFIX}", run) for name, run in asked.others.items())
        return [cls(cls.kind, asked.base), *others]
