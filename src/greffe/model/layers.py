"""One transformer block: attention and feed forward, each with its norm and residual.

Knows nothing of embeddings, heads or what a mask means.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from greffe.config.sections import Activation, ModelSpec
from greffe.kernels.linear import Norm, normalize
from greffe.model.adapters import BlockLinear
from greffe.model.attention import Attention, AttentionMask, LayerCache
from greffe.model.positions.scheme import PositionScheme


def build_norm(spec: ModelSpec, width: int | None = None) -> Norm:
    """Return a normalization of the model's kind, by default as wide as the base."""
    width = spec.width if width is None else width
    if spec.norm_kind == "rms":
        return nn.RMSNorm(width, eps=spec.norm_epsilon)
    return nn.LayerNorm(width, eps=spec.norm_epsilon, bias=spec.norm_bias)


def activate(x: Tensor, activation: Activation) -> Tensor:
    """Return the activation of x."""
    match activation:
        case "relu":
            return F.relu(x)
        case "silu":
            return F.silu(x)
        case _:
            return F.gelu(x, approximate="tanh" if activation == "gelu_tanh" else "none")


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, which may be gated."""

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        self.activation = spec.activation
        self.is_gated = spec.gated
        self.expand = BlockLinear(spec.width, spec.expanded, bias=spec.linear_bias)
        self.contract = BlockLinear(spec.feed_forward, spec.width, bias=spec.linear_bias)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] → [B, T, width]."""
        result: Tensor = self.contract(self.between(self.expand(x)))
        return result

    def between(self, wider: Tensor) -> Tensor:
        """Activate the first layer's outputs [..., feed_forward, twice if gated]."""
        if not self.is_gated:
            return activate(wider, self.activation)
        first, gate = wider.chunk(2, dim=-1)
        return activate(first, self.activation) * gate


class Block(nn.Module):
    """Pre-norm (norm, branch, add) or post-norm (branch, add, norm).

    Dropout applies to the two branches only: attention weights have none, to keep the fast path.
    """

    def __init__(self, spec: ModelSpec, number: int) -> None:
        super().__init__()
        self.is_pre_norm = spec.norm == "pre"
        self.is_local = spec.is_local(number)
        self.attention = Attention(spec)
        has_norm = number > 0 or not spec.skips_first_norm
        self.attention_norm = build_norm(spec) if has_norm else None
        self.feed_forward = FeedForward(spec)
        self.feed_forward_norm = build_norm(spec)
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
            seen = self.seen(x, dtype)
            x = x + self.dropout(self.attention(seen, mask, position, positions, cache))
            x = x if chosen is None else select_tokens(x, chosen)
            fed = self.dropout(self.feed_forward(normalize(x, self.feed_forward_norm, dtype)))
            result: Tensor = x + fed
            return result
        mixed = self.dropout(
            self.attention(x.to(dtype or x.dtype), mask, position, positions, cache)
        )
        x = x + mixed if chosen is None else select_tokens(x + mixed, chosen)
        assert self.attention_norm is not None
        x = normalize(x, self.attention_norm)
        fed = self.dropout(self.feed_forward(x.to(dtype or x.dtype)))
        return normalize(x + fed, self.feed_forward_norm)

    def seen(self, x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Return what the attention of a pre-norm block reads of x."""
        if self.attention_norm is None:
            return x.to(dtype or x.dtype)
        return normalize(x, self.attention_norm, dtype)


def select_tokens(x: Tensor, chosen: Tensor) -> Tensor:
    """Return the vectors [N, width] of tokens of x [B, T, width], by indices into B · T."""
    return x.reshape(-1, x.shape[-1]).index_select(0, chosen)
