"""What every head offers, and what vocabulary heads share. Knows only the width of the base."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from greffe.config.components import Formula
from greffe.kernels.linear import linear


class Head(nn.Module, ABC):
    """Hidden states → scores."""

    @abstractmethod
    def forward(self, hidden: Tensor, embedding: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return scores for hidden states [B, T, width] with lengths [B] real tokens per row.

        `embedding` [vocab, width] is the base's, which a tied head uses as its matrix.
        """


class VocabularyHead(Head):
    """Scores for every token of the vocabulary: features, then one matrix and a bias.

    A tied head owns only the bias and uses the embedding as its matrix.
    """

    bias: nn.Parameter
    weight: nn.Parameter | None

    def __init__(self, width: int, vocab: int, *, tied: bool) -> None:
        super().__init__()
        weight = None if tied else nn.Parameter(torch.empty(vocab, width))
        self.register_parameter("weight", weight)
        self.bias = nn.Parameter(torch.empty(vocab))

    def features(self, hidden: Tensor) -> Tensor:
        """Return what the matrix multiplies: [..., width] → [..., width]."""
        return hidden

    def decoder(self, embedding: Tensor) -> tuple[Tensor, Tensor]:
        """Return the matrix [vocab, width] and the bias [vocab]."""
        return (embedding if self.weight is None else self.weight), self.bias

    def forward(self, hidden: Tensor, embedding: Tensor, lengths: Tensor | None = None) -> Tensor:
        """[..., width] → [..., vocab]."""
        return linear(self.features(hidden), *self.decoder(embedding))


def matrix_parameters(width: int, vocab: int, *, tied: bool) -> Formula:
    """Return the number of parameters of a vocabulary head's matrix and bias."""
    if tied:
        return f"{vocab:,}", vocab
    return f"{vocab:,} × {width} + {vocab:,}", vocab * width + vocab
