"""Pooling: one vector per row from the hidden states of its tokens."""

from __future__ import annotations

from typing import assert_never

import torch
from torch import Tensor

from greffe.config.sections import ModelSpec, Pooler


def reads_tokens(pooler: Pooler) -> bool:
    """Return whether `pool` needs the tokens' vectors in the embedding."""
    return pooler == "mean+embedding"


def pooled_width(model: ModelSpec, pooler: Pooler) -> int:
    """Return the size of the vector that `pool` returns."""
    if reads_tokens(pooler):
        return model.width + model.token_width
    return 2 * model.width if pooler == "mean+max" else model.width


def pool(
    hidden: Tensor, lengths: Tensor | None, pooler: Pooler, tokens: Tensor | None = None
) -> Tensor:
    """Return one vector per row of hidden [B, T, width], ignoring padding; zeros for empty rows.

    `tokens` [B, T, token width] are the rows of the embedding. The vector has at least single
    precision, also if the hidden states are bf16.
    """
    rows, count, _ = hidden.shape
    exact = torch.promote_types(hidden.dtype, torch.float32)
    if lengths is None:
        lengths = torch.full((rows,), count, device=hidden.device)
    is_real = torch.arange(count, device=hidden.device) < lengths[:, None]  # [B, T]
    is_filled = (lengths > 0)[:, None]  # [B, 1]
    match pooler:
        case "first":
            return hidden[:, 0].where(is_filled, 0).to(exact)
        case "last":
            ends = (lengths - 1).clamp(min=0)
            last = hidden[torch.arange(rows, device=hidden.device), ends]
            return last.where(is_filled, 0).to(exact)
        case "mean":
            total = hidden.where(is_real[..., None], 0).sum(dim=1, dtype=exact)
            return total / lengths.clamp(min=1)[:, None].to(exact)
        case "max":
            largest = hidden.where(is_real[..., None], float("-inf")).amax(dim=1)
            return largest.where(is_filled, 0).to(exact)
        case "mean+max":
            return torch.cat((pool(hidden, lengths, "mean"), pool(hidden, lengths, "max")), dim=-1)
        case "mean+embedding":
            assert tokens is not None
            return torch.cat((pool(hidden, lengths, "mean"), pool(tokens, lengths, "mean")), dim=-1)
        case _:
            assert_never(pooler)
