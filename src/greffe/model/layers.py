"""One transformer block: attention and feed forward, each with its norm and residual.

Knows nothing of embeddings, heads or what a mask means.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from greffe.config.sections import ModelSpec
from greffe.kernels.linear import linear, normalize
from greffe.model.attention import Attention, AttentionMask, LayerCache
from greffe.model.positions.scheme import PositionScheme

NORM_EPSILON = 1e-5


class FeedForward(nn.Module):
    """Two linear layers with an activation between them."""

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        self.expand = nn.Linear(spec.width, spec.feed_forward)
        self.activation = nn.ReLU() if spec.activation == "relu" else nn.GELU()
        self.contract = nn.Linear(spec.feed_forward, spec.width)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] → [B, T, width]."""
        wider = linear(x, self.expand.weight, self.expand.bias)
        return linear(self.activation(wider), self.contract.weight, self.contract.bias)


class Block(nn.Module):
    """Pre-norm (norm, branch, add) or post-norm (branch, add, norm).

    Dropout applies to the two branches only: attention weights have none, to keep the fast path.
    """

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        self.is_pre_norm = spec.norm == "pre"
        self.attention = Attention(spec.width, spec.heads)
        self.attention_norm = nn.LayerNorm(spec.width, eps=NORM_EPSILON)
        self.feed_forward = FeedForward(spec)
        self.feed_forward_norm = nn.LayerNorm(spec.width, eps=NORM_EPSILON)
        self.dropout = nn.Dropout(spec.dropout)

    def forward(
        self,
        x: Tensor,
        mask: AttentionMask,
        position: PositionScheme,
        positions: Tensor,
        cache: LayerCache | None = None,
        chosen: Tensor | None = None,
        dtype: torch.dtype | None = None,
    ) -> Tensor:
        """[B, T, width] → [B, T, width], or [N, width] of the `chosen` tokens [N] only.

        Branches are computed in `dtype`, by default that of x; their sum keeps the type of x.
        """
        if self.is_pre_norm:
            seen = normalize(x, self.attention_norm, dtype)
            x = x + self.dropout(self.attention(seen, mask, position, positions, cache))
            x = x if chosen is None else select_tokens(x, chosen)
            fed = self.dropout(self.feed_forward(normalize(x, self.feed_forward_norm, dtype)))
            result: Tensor = x + fed
            return result
        mixed = self.dropout(
            self.attention(x.to(dtype or x.dtype), mask, position, positions, cache)
        )
        x = x + mixed if chosen is None else select_tokens(x + mixed, chosen)
        x = normalize(x, self.attention_norm)
        fed = self.dropout(self.feed_forward(x.to(dtype or x.dtype)))
        return normalize(x + fed, self.feed_forward_norm)


def select_tokens(x: Tensor, chosen: Tensor) -> Tensor:
    """Return the vectors [N, width] of tokens of x [B, T, width], by indices into B · T."""
    return x.reshape(-1, x.shape[-1]).index_select(0, chosen)
