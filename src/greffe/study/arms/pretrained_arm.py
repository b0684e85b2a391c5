"""Fine-tuning a pretrained base: the study's base, and each further run."""

from __future__ import annotations

from typing import ClassVar, Self

from greffe.study.arms.arm import AskedArms, register
from greffe.study.arms.finetuned import FinetunedArm

AFTER_SCRATCH = 2


@register
class PretrainedArm(FinetunedArm):
    """A pretrained base, fine-tuned whole."""

    kind: ClassVar[str] = "pretrained"
    order: ClassVar[int] = 0
    style_slot: ClassVar[int] = 0
    compared_with: ClassVar[tuple[str, ...]] = ("scratch", "tfidf")
    uses_weights: ClassVar[bool] = True
    presents_base: ClassVar[bool] = True

    @classmethod
    def planned(cls, asked: AskedArms) -> list[Self]:
        """Return the arm of the base, then one for each further run."""
        return [cls(cls.kind, asked.base), *(cls(name, run) for name, run in asked.others.items())]

    @property
    def position(self) -> int:
        """First; further runs come after the arm from scratch."""
        return self.order if self.is_usual else AFTER_SCRATCH

    @property
    def opponents(self) -> tuple[str, ...]:
        """Arms without this pretraining; a further run is compared with the study's base."""
        return self.compared_with if self.is_usual else (self.kind,)
