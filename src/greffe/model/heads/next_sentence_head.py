"""The next-sentence head: does the second half of a row follow the first?"""

from __future__ import annotations

from typing import Literal, Self

import torch
from torch import Tensor, nn

from greffe.config.components import Formula, HeadSpec
from greffe.config.sections import ModelSpec
from greffe.model.heads.head import Head


class NextSentenceHead(HeadSpec):
    """Two scores from the first token: does not follow, follows."""

    kind: Literal["next_sentence"] = "next_sentence"

    @classmethod
    def for_model(cls, model: ModelSpec) -> Self:
        return cls()

    def build(self, model: ModelSpec, vocab: int) -> NextSentence:
        return NextSentence(model.width)

    def parameters(self, model: ModelSpec, vocab: int) -> Formula:
        width = model.width
        value = width * width + width + 2 * width + 2
        return f"({width} × {width} + {width}) + (2 × {width} + 2)", value

    def outputs(self, vocab: int) -> int:
        return 2


class NextSentence(Head):
    """One layer and two scores, from the first token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.score = nn.Linear(width, 2)

    def forward(self, hidden: Tensor, embedding: Tensor, lengths: Tensor | None = None) -> Tensor:
        """[B, T, width] → [B, 2]."""
        first = hidden[:, 0].to(self.score.weight.dtype)
        result: Tensor = self.score(torch.tanh(self.transform(first)))
        return result
