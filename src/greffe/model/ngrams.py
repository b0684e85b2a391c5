"""A head's own memory of tokens and pairs of tokens: what each of them says for each class.

Knows ids only. It is to the network what TF-IDF is to a linear model. Tokens have rows of their
own, pairs share the rest by hashing. Every row is zero at first: then the table has no opinion.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_FIRST, _SECOND, _MIX = 1_000_003, 8_191, 2_654_435_761
"""Odd numbers that spread pairs of ids over the rows; part of the format, never to be changed."""


class NgramTable(nn.Module):
    """Class scores of a text's tokens and pairs, each counted once, as a row of unit length."""

    def __init__(self, vocab: int, pairs: int, classes: int) -> None:
        super().__init__()
        self.vocab = vocab
        self.pairs = pairs
        self.weight = nn.Parameter(torch.empty(vocab + pairs, classes))

    def forward(self, ids: Tensor, lengths: Tensor | None) -> Tensor:
        """ids [B, T] and real tokens a row [B] → what each token adds to the scores: [B, T, K].

        Of a pair, each token has half.
        """
        count = ids.shape[1]
        if lengths is None:
            lengths = torch.full((len(ids),), count, device=ids.device)
        places = torch.arange(count, device=ids.device)
        is_token = places < lengths[:, None]  # [B, T]
        is_pair = places[1:] < lengths[:, None]  # [B, T - 1]
        rows = torch.cat((ids, self.pair_rows(ids[:, :-1], ids[:, 1:])), dim=1)  # [B, 2T - 1]
        is_new = _first_of_each(rows, torch.cat((is_token, is_pair), dim=1))
        share = is_new / is_new.sum(dim=1, keepdim=True).clamp(min=1).sqrt()
        says = F.embedding(rows, self.weight) * share[..., None]  # [B, 2T - 1, K]
        tokens, pairs = says[:, :count], says[:, count:] / 2
        nothing = torch.zeros_like(tokens[:, :1])
        return tokens + torch.cat((pairs, nothing), 1) + torch.cat((nothing, pairs), 1)

    def pair_rows(self, first: Tensor, second: Tensor) -> Tensor:
        """The row of each pair of ids."""
        mixed = (first * _FIRST + second * _SECOND + 7) * _MIX
        return (mixed >> 8) % self.pairs + self.vocab


def _first_of_each(rows: Tensor, is_real: Tensor) -> Tensor:
    """Where a value stands for the first time in its line: [B, N] → [B, N] of zeros and ones."""
    values, order = rows.masked_fill(~is_real, -1).sort(dim=1, stable=True)
    is_new = torch.ones_like(is_real)
    is_new[:, 1:] = values[:, 1:] != values[:, :-1]
    is_new &= values >= 0
    return torch.zeros_like(is_real).scatter(1, order, is_new).float()
