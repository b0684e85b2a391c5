"""Heads: what turns hidden states into answers. They are swapped, the base stays.

Knows nothing of the base but its width; tied heads are handed the embedding at each call.
"""

from __future__ import annotations

from typing import assert_never

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from greffe.config import recipe as config
from greffe.model.layers import NORM_EPSILON


class VocabularyHead(nn.Module):
    """Scores for every token of the vocabulary: features, then one matrix and a bias.

    A tied head owns the bias alone and borrows the embedding as its matrix.
    """

    bias: nn.Parameter
    weight: nn.Parameter | None

    def __init__(self, width: int, vocab: int, *, tied: bool) -> None:
        super().__init__()
        weight = None if tied else nn.Parameter(torch.empty(vocab, width))
        self.register_parameter("weight", weight)
        self.bias = nn.Parameter(torch.empty(vocab))

    def features(self, hidden: Tensor) -> Tensor:
        """What the matrix reads: [..., width] → [..., width]."""
        return hidden

    def decoder(self, embedding: Tensor) -> tuple[Tensor, Tensor]:
        """The matrix [vocab, width] and the bias [vocab]."""
        return (embedding if self.weight is None else self.weight), self.bias

    def forward(self, hidden: Tensor, embedding: Tensor) -> Tensor:
        """[..., width] → [..., vocab]."""
        return F.linear(self.features(hidden), *self.decoder(embedding))


class NextToken(VocabularyHead):
    """The token that follows each token."""

    def __init__(self, width: int, vocab: int, spec: config.NextTokenHead) -> None:
        super().__init__(width, vocab, tied=spec.tied)


class MaskedToken(VocabularyHead):
    """The token that stands under each mask: one layer of its own before the matrix."""

    def __init__(self, width: int, vocab: int, spec: config.MaskedTokenHead) -> None:
        super().__init__(width, vocab, tied=spec.tied)
        self.transform = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=NORM_EPSILON)

    def features(self, hidden: Tensor) -> Tensor:
        result: Tensor = self.norm(F.gelu(self.transform(hidden)))
        return result


class NextSentence(nn.Module):
    """Whether the second half follows the first, from the first token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.score = nn.Linear(width, 2)

    def forward(self, hidden: Tensor) -> Tensor:
        """[B, T, width] → [B, 2]."""
        result: Tensor = self.score(torch.tanh(self.transform(hidden[:, 0])))
        return result


class Classification(nn.Module):
    """Class scores from one pooled vector a row."""

    def __init__(self, width: int, spec: config.ClassificationHead) -> None:
        super().__init__()
        self.pooler = spec.pooler
        self.dropout = nn.Dropout(spec.dropout)
        self.score = nn.Linear(pooled_width(width, spec.pooler), spec.classes)

    def forward(self, hidden: Tensor, lengths: Tensor | None = None) -> Tensor:
        """[B, T, width] and real tokens a row [B] → [B, classes]."""
        result: Tensor = self.score(self.dropout(pool(hidden, lengths, self.pooler)))
        return result


Head = VocabularyHead | NextSentence | Classification


def build_head(spec: config.HeadSpec, width: int, vocab: int) -> Head:
    """The head that a specification asks for."""
    match spec:
        case config.NextTokenHead():
            return NextToken(width, vocab, spec)
        case config.MaskedTokenHead():
            return MaskedToken(width, vocab, spec)
        case config.NextSentenceHead():
            return NextSentence(width)
        case config.ClassificationHead():
            return Classification(width, spec)
        case _:
            assert_never(spec)


def pooled_width(width: int, pooler: config.Pooler) -> int:
    """Size of the vector that `pool` returns."""
    return 2 * width if pooler == "mean+max" else width


def pool(hidden: Tensor, lengths: Tensor | None, pooler: config.Pooler) -> Tensor:
    """One vector a row from hidden [B, T, width], padding unseen; an empty row gives zeros."""
    rows, count, _ = hidden.shape
    if lengths is None:
        lengths = torch.full((rows,), count, device=hidden.device)
    is_real = torch.arange(count, device=hidden.device) < lengths[:, None]  # [B, T]
    is_filled = (lengths > 0)[:, None]  # [B, 1]
    match pooler:
        case "first":
            return hidden[:, 0].where(is_filled, 0)
        case "last":
            ends = (lengths - 1).clamp(min=0)
            return hidden[torch.arange(rows, device=hidden.device), ends].where(is_filled, 0)
        case "mean":
            total = hidden.where(is_real[..., None], 0).sum(dim=1)
            return total / lengths.clamp(min=1)[:, None].to(hidden.dtype)
        case "max":
            return hidden.where(is_real[..., None], float("-inf")).amax(dim=1).where(is_filled, 0)
        case "mean+max":
            return torch.cat((pool(hidden, lengths, "mean"), pool(hidden, lengths, "max")), dim=-1)
        case _:
            assert_never(pooler)
