"""A pretrained base that stays as it is, with a trained classifier on top."""

from __future__ import annotations

from typing import Self

from greffe.study.arms.arm import ArmOptions, register
from greffe.study.arms.finetuned import FinetunedArm

SUFFIX = "-frozen"


@register
class FrozenArm(FinetunedArm):
    """A frozen base; only the classifier's head learns."""

    kind = "frozen"
    order = 3
    style_slot = 2
    weight_per_label = 0.4
    compared_with = ("pretrained",)
    uses_weights = True
    is_detailed = False
    # A head alone is a small convex problem: it takes a rate that would ruin a base.
    changes = ("train.freeze=base", "train.lr=0.01")

    @classmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
        """Return one arm for the base and each further run, if frozen arms are requested."""
        if not options.frozen:
            return []
        others = (cls(f"{name}{SUFFIX}", run) for name, run in options.others.items())
        return [cls(cls.kind, options.base), *others]
