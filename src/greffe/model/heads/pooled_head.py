"""The pooler of BERT: one vector for a text, from its first token."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from greffe.config.components import Formula, HeadSpec
from greffe.config.sections import ModelSpec
from greffe.model.formulas import linear_formula
from greffe.model.heads.head import Head


class PooledHead(HeadSpec):
    """One vector for a text, which imported bases may bring along."""

    is_imported: ClassVar[bool] = True
    kind: Literal["pooled"] = "pooled"

    @classmethod
    def for_model(cls, model: ModelSpec) -> Self:
        return cls()

    def build(self, model: ModelSpec, vocab: int) -> Pooled:
        return Pooled(model.width)

    def parameters(self, model: ModelSpec, vocab: int) -> Formula:
        return linear_formula(model.width, model.width, bias=True)

    def outputs(self, vocab: int) -> None:
        return None


class Pooled(Head):
    """One layer and tanh, from the first token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.transform = nn.Linear(width, width)

    def forward(self, hidden: Tensor, embedding: Tensor, lengths: Tensor | None = None) -> Tensor:
        """[B, T, width] → [B, width]."""
        first = hidden[:, 0].to(self.transform.weight.dtype)
        return torch.tanh(self.transform(first))
