"""TF-IDF that learns from auxiliary labelled texts too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from greffe.study.arms.arm import ArmOptions, register
from greffe.study.arms.linear_fit import LinearArm

WEIGHT_PER_AUXILIARY_TEXT = 0.02


@register
@dataclass(frozen=True)
class TfidfAuxArm(LinearArm):
    """TF-IDF with logistic regression on the training texts and auxiliary ones together."""

    kind = "tfidf+aux"
    order = 9
    style_slot = 10
    weight_per_label = 0.1
    compared_with = ("tfidf", "pretrained")
    takes_auxiliary = True
    keeps_run = True

    auxiliary_texts: int = 0

    @classmethod
    def planned(cls, options: ArmOptions) -> list[Self]:
        """Return one arm, if there are auxiliary texts."""
        texts = options.auxiliary_texts
        return [cls(cls.kind, auxiliary_texts=texts)] if texts else []

    def weight(self, labels: int) -> float:
        """Return a weight that counts the auxiliary texts as well."""
        return super().weight(labels) + WEIGHT_PER_AUXILIARY_TEXT * self.auxiliary_texts
