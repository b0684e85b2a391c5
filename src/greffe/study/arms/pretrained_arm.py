"""Fine-tuning a pretrained base: the study's base, and each further run."""

from __future__ import annotations

from typing import Self

from greffe.study.arms.arm import ArmOptions, register
from greffe.study.arms.finetuned import FinetunedArm

AFTER_SCRATCH = 2


@register
class PretrainedArm(FinetunedArm):
    """A pretrained base; all of its weights are fine-tuned."""

    kind = "pretrained"
    order = 0
    style_slot = 0
    compared_with = ("scratch", "tfidf")
    uses_weights = True
    presents_base = True

    @classmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
        """Return the arm of the base, then one for each further run."""
        others = (cls(name, run) for name, run in options.others.items())
        return [cls(cls.kind, options.base), *others]

    @property
    def position(self) -> int:
        """First; further runs come after the arm from scratch."""
        return self.order if self.is_usual else AFTER_SCRATCH

    @property
    def opponents(self) -> tuple[str, ...]:
        """Arms without this pretraining; a further run is compared with the study's base."""
        return self.compared_with if self.is_usual else (self.kind,)
