"""The masked-token head of masked language models."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import torch.nn.functional as F
from torch import Tensor, nn

from greffe.config.components import Formula, HeadSpec
from greffe.config.sections import ModelSpec
from greffe.kernels.linear import linear, normalize
from greffe.model.heads.head import VocabularyHead, matrix_parameters
from greffe.model.layers import NORM_EPSILON


class MaskedTokenHead(HeadSpec):
    """Vocabulary scores for a hidden token, with one layer before the matrix."""

    by_piece: ClassVar[tuple[str, ...]] = ("weight", "bias")
    kind: Literal["masked_token"] = "masked_token"
    tied: bool = True
    """Use the embedding as the matrix."""

    @classmethod
    def for_model(cls, model: ModelSpec) -> Self:
        return cls(tied=model.tied)

    def build(self, width: int, vocab: int) -> MaskedToken:
        return MaskedToken(width, vocab, tied=self.tied)

    def parameters(self, width: int, vocab: int) -> Formula:
        formula, value = matrix_parameters(width, vocab, tied=self.tied)
        own = width * width + width + 2 * width
        return f"({width} × {width} + {width}) + 2 × {width} + {formula}", own + value

    def outputs(self, vocab: int) -> int:
        return vocab


class MaskedToken(VocabularyHead):
    """The token behind each mask."""

    def __init__(self, width: int, vocab: int, *, tied: bool) -> None:
        super().__init__(width, vocab, tied=tied)
        self.transform = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=NORM_EPSILON)

    def features(self, hidden: Tensor) -> Tensor:
        transformed = linear(hidden, self.transform.weight, self.transform.bias)
        return normalize(F.gelu(transformed), self.norm)
