"""The parts of greffe's models: positions, blocks and heads. Tensors are named as in greffe."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .configuration_greffe import GreffeConfig  # noqa: TID252  # as transformers loads it


def build_norm(config: GreffeConfig, width: int) -> nn.Module:
    """Return a normalization of the configuration's kind."""
    if config.norm_kind == "rms":
        return nn.RMSNorm(width, eps=config.norm_epsilon)
    return nn.LayerNorm(width, eps=config.norm_epsilon, bias=config.norm_bias)


def activate(x: Tensor, name: str) -> Tensor:
    """Return the activation of x."""
    if name == "relu":
        return F.relu(x)
    if name == "silu":
        return F.silu(x)
    return F.gelu(x, approximate="tanh" if name == "gelu_tanh" else "none")


def angles(positions: Tensor, width: int, base: float) -> Tensor:
    """Return angles [B, T, ceil(width / 2)] at positions [B, T], one for each pair of columns."""
    columns = torch.arange(0, width, 2, device=positions.device, dtype=torch.float32)
    return positions[..., None].float() * base ** (-columns / width)


def rotate(x: Tensor, turns: Tensor) -> Tensor:
    """Rotate adjacent columns of x [B, heads, T, width] by turns [B, 1, T, width / 2]."""
    even, odd = x.float().reshape(*x.shape[:-1], -1, 2).unbind(-1)
    cos, sin = turns.cos(), turns.sin()
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return turned.flatten(-2).to(x.dtype)


class Positions(nn.Module):
    """What positions add to the vectors of tokens and to the scores of attention."""

    def __init__(self, config: GreffeConfig) -> None:
        super().__init__()
        choices = config.position or {"kind": "rotary", "base": 10_000.0}
        self.kind, self.base = choices["kind"], choices.get("base")
        self.local_base = choices.get("local_base") or self.base
        self.width, self.heads = config.embedding_width or config.width, config.heads
        self.head_width = config.width // config.heads
        if self.kind == "learned":
            self.weight = nn.Parameter(torch.empty(config.context, self.width))

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return vectors x [B, T, width] with what positions [B, T] add to them."""
        if self.kind == "learned":
            return x + F.embedding(positions, self.weight)
        if self.kind == "sinusoidal":
            turns = angles(positions, self.width, 10_000.0)
            table = torch.stack((turns.sin(), turns.cos()), dim=-1).flatten(-2)
            return x + table[..., : self.width].to(x.dtype)
        return x

    def turns(self, positions: Tensor, base: float | None) -> Tensor | None:
        """Return the angles [B, 1, T, head width / 2] of queries and keys, if they are rotated."""
        return None if base is None else angles(positions, self.head_width, base)[:, None]

    def mask(self, allowed: Tensor, distances: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the mask of attention [B, heads or 1, T, T]; `allowed` is [B, 1, T, T]."""
        if self.kind != "alibi":
            return allowed
        numbers = torch.arange(1, self.heads + 1, device=distances.device)
        slopes = 2.0 ** (-8.0 * numbers / self.heads)
        scores = -distances * slopes[:, None, None]
        return scores.masked_fill(~allowed, float("-inf")).to(dtype)


class Attention(nn.Module):
    """Multi-head self-attention; several heads may share their keys and values."""

    def __init__(self, config: GreffeConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads or config.heads
        self.head_width = config.width // config.heads
        wide = config.width + 2 * self.kv_heads * self.head_width
        self.qkv = nn.Linear(config.width, wide, bias=config.linear_bias)
        self.out = nn.Linear(config.width, config.width, bias=config.linear_bias)

    def forward(self, x: Tensor, mask: Tensor, turns: Tensor | None) -> Tensor:
        """[B, T, width] → [B, T, width]."""
        split = self.qkv(x).unflatten(-1, (-1, self.head_width)).transpose(1, 2)
        q, k, v = torch.split(split, [self.heads, self.kv_heads, self.kv_heads], dim=1)
        if turns is not None:
            q, k = rotate(q, turns), rotate(k, turns)
        shared = self.heads // self.kv_heads
        k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        result: Tensor = self.out(mixed.transpose(1, 2).flatten(-2))
        return result


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, which may be gated."""

    def __init__(self, config: GreffeConfig) -> None:
        super().__init__()
        self.activation, self.is_gated = config.activation, config.gated
        wide = config.feed_forward * (2 if config.gated else 1)
        self.expand = nn.Linear(config.width, wide, bias=config.linear_bias)
        self.contract = nn.Linear(config.feed_forward, config.width, bias=config.linear_bias)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, width] → [B, T, width]."""
        first, *gate = self.expand(x).chunk(2 if self.is_gated else 1, dim=-1)
        active = activate(first, self.activation)
        result: Tensor = self.contract(active * gate[0] if gate else active)
        return result


class Block(nn.Module):
    """Pre-norm (norm, branch, add) or post-norm (branch, add, norm)."""

    def __init__(self, config: GreffeConfig, number: int) -> None:
        super().__init__()
        self.is_pre_norm = config.norm == "pre"
        self.is_local = config.window > 0 and number % config.global_every != 0
        self.attention = Attention(config)
        # The first block of a pre-norm base reads what is normalized after the embedding.
        is_read = config.embedding_norm and not config.embedding_width and number == 0
        has_norm = not (self.is_pre_norm and is_read)
        self.attention_norm = build_norm(config, config.width) if has_norm else nn.Identity()
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = build_norm(config, config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor, turns: Tensor | None) -> Tensor:
        """[B, T, width] → [B, T, width]."""
        if self.is_pre_norm:
            x = x + self.dropout(self.attention(self.attention_norm(x), mask, turns))
            x = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
            return x
        x = self.attention_norm(x + self.dropout(self.attention(x, mask, turns)))
        x = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return x


class VocabularyHead(nn.Module):
    """Scores for every token; a tied head uses the embedding as its matrix."""

    def __init__(self, config: GreffeConfig, kind: str) -> None:
        super().__init__()
        width = config.embedding_width or config.width
        self.activation = config.head_activation
        self.weight = None if config.tied else nn.Parameter(torch.empty(config.vocab_size, width))
        self.bias = nn.Parameter(torch.empty(config.vocab_size)) if config.head_bias else None
        self.transform = self.norm = self.projection = None
        if kind == "masked_token":
            self.transform = nn.Linear(config.width, width, bias=config.linear_bias)
            self.norm = build_norm(config, width)
        elif config.embedding_width:
            self.projection = nn.Linear(config.width, width, bias=False)

    def forward(self, hidden: Tensor, embedding: Tensor) -> Tensor:
        """[B, T, width] → [B, T, vocab]."""
        if self.transform is not None and self.norm is not None:
            hidden = self.norm(activate(self.transform(hidden), self.activation))
        if self.projection is not None:
            hidden = self.projection(hidden)
        return F.linear(hidden, embedding if self.weight is None else self.weight, self.bias)


class ClassificationHead(nn.Module):
    """One linear layer on one vector per text."""

    def __init__(self, config: GreffeConfig) -> None:
        super().__init__()
        self.pooler = config.pooler
        self.dropout = nn.Dropout(config.classifier_dropout)
        second = {
            "mean+max": config.width,
            "mean+embedding": config.embedding_width or config.width,
        }
        width = config.width + second.get(config.pooler, 0)
        self.score = nn.Linear(width, config.num_labels or 2)

    def forward(self, hidden: Tensor, real: Tensor, tokens: Tensor) -> Tensor:
        """[B, T, width] → [B, classes]; `real` [B, T] says which tokens are not padding.

        `tokens` [B, T, width of the embedding] are its rows.
        """
        places = torch.arange(1, hidden.shape[1] + 1, device=hidden.device)
        rows = torch.arange(len(hidden), device=hidden.device)
        match self.pooler:
            case "first":
                pooled = hidden[rows, real.int().argmax(-1)]
            case "last":
                pooled = hidden[rows, (real * places).argmax(-1)]
            case _:
                counts = real.sum(-1, keepdim=True).clamp(min=1)
                mean, embedding = (
                    x.where(real[..., None], 0).sum(1) / counts for x in (hidden, tokens)
                )
                largest = hidden.where(real[..., None], float("-inf")).amax(1)
                both = {"mean": mean, "max": largest, "embedding": embedding}
                pooled = torch.cat([both[name] for name in self.pooler.split("+")], dim=-1)
        result: Tensor = self.score(self.dropout(pooled))
        return result
