"""The [classification] section: how a base is fine-tuned to classify. Also an objective."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from greffe.config.components import Direction, ObjectiveSpec

Pooler = Literal["last", "first", "mean", "max", "mean+max"]
LongTexts = Literal["windows", "cut"]
"""How much of a text longer than the context is read: all of it in windows, or its beginning."""


class Classification(ObjectiveSpec):
    """Predict a label for each text."""

    directions: ClassVar[tuple[Direction, ...]] = ("causal", "bidirectional")
    kind: Literal["classification"] = "classification"
    class_weights: Literal["none", "balanced"] = "none"
    """balanced: give rare classes the same weight as frequent ones."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Fraction of the target that is spread evenly over all classes."""
    pooler: Pooler | Literal["auto"] = "auto"
    """What the head reads: last, first, mean, max, mean+max; auto: last if causal, else mean."""
    direction: Literal["auto", "causal", "bidirectional"] = "auto"
    """How the base reads; auto: as it was pretrained, bidirectional if it knows both."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout before the classification layer."""
    lowercase: bool = False
    """Lowercase all texts."""
    token_dropout: float = Field(0.0, ge=0, lt=1)
    """Fraction of tokens replaced by <mask> in training; redrawn in each epoch."""
    long: LongTexts = "cut"
    """Texts longer than the context in training: cut after the context, or read in windows."""
