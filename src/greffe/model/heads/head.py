"""What every head offers, and what vocabulary heads share. Knows only the width of the base."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from greffe.config.components import Formula
from greffe.config.sections import ModelSpec
from greffe.kernels.linear import linear


class Head(nn.Module, ABC):
    """Hidden states → scores."""

    reads_tokens: bool = False
    """Whether `forward` also takes the tokens' own vectors, the rows of the embedding."""

    @abstractmethod
    def forward(self, hidden: Tensor, embedding: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return scores for hidden states [B, T, width] with lengths [B] real tokens per row.

        `embedding` [vocab, width] is the base's, which a tied head uses as its matrix.
        """


class VocabularyHead(Head):
    """Scores for every token of the vocabulary: features, then one matrix and a bias, if any.

    A tied head owns at most the bias and uses the embedding as its matrix.
    """

    bias: nn.Parameter | None
    weight: nn.Parameter | None

    def __init__(self, model: ModelSpec, vocab: int, *, tied: bool) -> None:
        super().__init__()
        self.vocab = vocab
        weight = None if tied else nn.Parameter(torch.empty(vocab, model.token_width))
        self.register_parameter("weight", weight)
        bias = nn.Parameter(torch.empty(vocab)) if model.head_bias else None
        self.register_parameter("bias", bias)

    def features(self, hidden: Tensor) -> Tensor:
        """Return what the matrix multiplies: [..., width] → [..., width of the embedding]."""
        return hidden

    def decoder(self, embedding: Tensor) -> tuple[Tensor, Tensor]:
        """Return the matrix [vocab, width] and the bias [vocab], zeros if there is none."""
        weight = embedding if self.weight is None else self.weight
        return weight, weight.new_zeros(self.vocab) if self.bias is None else self.bias

    def forward(self, hidden: Tensor, embedding: Tensor, lengths: Tensor | None = None) -> Tensor:
        """[..., width] → [..., vocab]."""
        return linear(self.features(hidden), *self.decoder(embedding))


def matrix_parameters(model: ModelSpec, vocab: int, *, tied: bool) -> Formula:
    """Return the number of parameters of a vocabulary head's matrix and bias."""
    width = model.token_width
    parts = [] if tied else [(f"{vocab:,} × {width}", vocab * width)]
    parts += [(f"{vocab:,}", vocab)] if model.head_bias else []
    return " + ".join(formula for formula, _ in parts) or "0", sum(value for _, value in parts)
