"""The classification head: what replaces the language-model head in fine-tuning."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from torch import Tensor, nn

from greffe.config.bounds import Classes, FractionBelowOne
from greffe.config.components import Formula, HeadSpec
from greffe.config.sections import ModelSpec, Pooler
from greffe.model.heads.head import Head
from greffe.model.pooling import pool, pooled_width, reads_tokens


class ClassificationHead(HeadSpec):
    """Class scores from pooled hidden states, and pooled tokens if the pooler says so."""

    has_small_start: ClassVar[bool] = True
    kind: Literal["classification"] = "classification"
    classes: Classes
    """Number of classes."""
    pooler: Pooler = "mean"
    """How the hidden states of a text become one vector."""
    dropout: FractionBelowOne = 0.0
    """Dropout before the linear layer."""

    @classmethod
    def for_model(cls, model: ModelSpec) -> Self:
        return cls(classes=2, pooler="last")

    def build(self, model: ModelSpec, vocab: int) -> Classification:
        return Classification(pooled_width(model, self.pooler), self)

    def parameters(self, model: ModelSpec, vocab: int) -> Formula:
        pooled = pooled_width(model, self.pooler)
        value = self.classes * pooled + self.classes
        return f"{self.classes} × {pooled} + {self.classes}", value

    def outputs(self, vocab: int) -> int:
        return self.classes


class Classification(Head):
    """One linear layer on one pooled vector per row."""

    def __init__(self, pooled: int, spec: ClassificationHead) -> None:
        super().__init__()
        self.pooler = spec.pooler
        self.reads_tokens = reads_tokens(spec.pooler)
        self.dropout = nn.Dropout(spec.dropout)
        self.score = nn.Linear(pooled, spec.classes)

    def forward(
        self,
        hidden: Tensor,
        embedding: Tensor,
        lengths: Tensor | None = None,
        tokens: Tensor | None = None,
    ) -> Tensor:
        """[B, T, width] → [B, classes]; `tokens` [B, T, token width] are rows of the embedding."""
        result: Tensor = self.score(self.dropout(pool(hidden, lengths, self.pooler, tokens)))
        return result
