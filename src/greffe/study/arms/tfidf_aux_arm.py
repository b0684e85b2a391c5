"""TF-IDF that learns from auxiliary labelled texts too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from greffe.study.arms.arm import AskedArms, register
from greffe.study.arms.linear_fit import LinearArm

WEIGHT_PER_AUXILIARY_TEXT = 0.02


@register
@dataclass(frozen=True)
class TfidfAuxArm(LinearArm):
    """TF-IDF with logistic regression on the training texts and auxiliary ones together."""

    kind: ClassVar[str] = "tfidf+aux"
    order: ClassVar[int] = 9
    style_slot: ClassVar[int] = 10
    weight_per_label: ClassVar[float] = 0.1
    compared_with: ClassVar[tuple[str, ...]] = ("tfidf", "pretrained")
    takes_auxiliary: ClassVar[bool] = True
    keeps_run: ClassVar[bool] = True

    auxiliary_texts: int = 0

    @classmethod
    def planned(cls, asked: AskedArms) -> list[Self]:
        """Return one arm, if there are auxiliary texts."""
        texts = asked.auxiliary_texts
        return [cls(cls.kind, auxiliary_texts=texts)] if texts else []

    def weight(self, labels: int) -> float:
        """Return a weight that counts the auxiliary texts as well."""
        return super().weight(labels) + WEIGHT_PER_AUXILIARY_TEXT * self.auxiliary_texts
