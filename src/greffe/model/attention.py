"""Attention, the mask builder, and the cache of keys and values for generation.

Knows nothing of objectives: the caller says whether attention is causal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from greffe.config.sections import ModelSpec
from greffe.kernels.half_attention import LONGEST, half_attention, pair_order
from greffe.model.adapters import BlockLinear
from greffe.model.positions.scheme import PositionScheme


@dataclass(frozen=True)
class Products:
    """What attention by matrix products needs besides a layer's input, for all layers."""

    rotation: tuple[Tensor, Tensor] | None
    """Cosines and sines of the positions [B or 1, T, head width / 2]."""
    added: Tensor | None
    """Added to the scores [B or 1, heads or 1, T or 1, T], -inf where not allowed."""


@dataclass(frozen=True)
class AttentionMask:
    """What each token may attend to; built once per forward pass and shared by all layers."""

    is_causal: bool
    """Use the fast causal path; `allowed` is then None."""
    allowed: Tensor | None
    """bool [B or 1, 1, queries or 1, keys], True: may attend; None: to everything, or is_causal."""
    scores: Tensor | None = None
    """float [B or 1, heads, queries, keys] added to the scores, -inf where not allowed."""
    products: Products | None = None
    """Set where attention is computed by matrix products, not by a fused kernel."""

    def with_bias(self, bias: Tensor | None) -> AttentionMask:
        """Return the mask with a position scheme's bias [B or 1, heads, queries, keys] added."""
        if bias is None:
            return self
        allowed = self.allowed
        if self.is_causal:
            allowed = _causal(bias.shape[-2], past=0, device=bias.device)
        if allowed is not None:
            bias = bias.masked_fill(~allowed, float("-inf"))
        return AttentionMask(is_causal=False, allowed=allowed, scores=bias)

    def within(self, reach: int, positions: Tensor, key_positions: Tensor) -> AttentionMask:
        """Return the mask with attention limited to keys that are at most `reach` tokens away."""
        distances = (positions[:, :, None] - key_positions[:, None, :]).abs()
        near = (distances <= reach)[:, None]  # [B or 1, 1, queries, keys]
        if self.is_causal:
            near = near & _causal(near.shape[-2], past=0, device=near.device)
        elif self.allowed is not None:
            near = near & self.allowed
            queries, keys = near.shape[-2:]
            if queries == keys:  # padding far from every real token attends to itself
                near = near | torch.eye(keys, dtype=torch.bool, device=near.device)
        return AttentionMask(is_causal=False, allowed=near)

    def with_products(
        self, position: PositionScheme, positions: Tensor, dtype: torch.dtype
    ) -> AttentionMask:
        """Return the mask for attention by matrix products of rows at positions [B or 1, T]."""
        added = None if self.scores is None else self.scores.to(dtype)
        count = positions.shape[1]
        allowed = _causal(count, past=0, device=None) if self.is_causal else self.allowed
        if added is None and allowed is not None:
            added = torch.zeros(allowed.shape, dtype=dtype).masked_fill_(~allowed, float("-inf"))
        products = Products(position.rotation(positions, dtype), added)
        return replace(self, products=products)


def build_mask(
    queries: int,
    *,
    causal: bool,
    lengths: Tensor | None = None,
    documents: Tensor | None = None,
    past: int = 0,
    device: torch.device | None = None,
) -> AttentionMask:
    """Return which token may attend to which; no tensor where attention has a fast path.

    lengths [B]: real tokens per row, padding on the right. documents [B, T]: number of each token's
    document; attention never crosses documents. past: number of cached keys before the queries, all
    of them real and of the same document. Every query keeps at least one key, in padding and empty
    rows too: no row of scores is -inf throughout.
    """
    assert causal or not past, "a cache works with causal attention only"
    assert documents is None or not past, "packed rows are not cached"
    if documents is not None:
        return AttentionMask(False, _documents(documents, lengths, causal=causal))
    if causal:
        # Right padding comes after every real token: no token can attend to it.
        if past == 0:
            return AttentionMask(True, None)
        if queries == 1:
            return AttentionMask(False, None)
        return AttentionMask(False, _causal(queries, past=past, device=device))
    if lengths is None:
        return AttentionMask(False, None)
    # An empty row attends to its first column, whatever it holds.
    is_real = torch.arange(queries, device=lengths.device) < lengths.clamp(min=1)[:, None]
    return AttentionMask(False, is_real[:, None, None, :])


def _causal(queries: int, *, past: int, device: torch.device | None) -> Tensor:
    ones = torch.ones(1, 1, queries, past + queries, dtype=torch.bool, device=device)
    return ones.tril(diagonal=past)


def _documents(documents: Tensor, lengths: Tensor | None, *, causal: bool) -> Tensor:
    count = documents.shape[1]
    allowed = documents[:, None, :, None] == documents[:, None, None, :]
    if causal:
        allowed &= _causal(count, past=0, device=documents.device)
    elif lengths is not None:
        allowed &= (torch.arange(count, device=lengths.device) < lengths[:, None])[:, None, None, :]
        # Padding may have a document number of its own: it attends to itself.
        allowed |= torch.eye(count, dtype=torch.bool, device=documents.device)
    return allowed


class LayerCache:
    """Keys and values of one layer [B, heads, length, head width], in buffers that double."""

    def __init__(self, capacity: int) -> None:
        self.length = 0
        self._capacity = capacity
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add keys and values [B, heads, new, head width] and return all cached ones."""
        end = self.length + keys.shape[2]
        self._keys = self._with_room(self._keys, keys, end)
        self._values = self._with_room(self._values, values, end)
        self._keys[:, :, self.length : end] = keys
        self._values[:, :, self.length : end] = values
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]

    def _with_room(self, buffer: Tensor | None, like: Tensor, end: int) -> Tensor:
        if buffer is not None and end <= buffer.shape[2]:
            return buffer
        rows, heads, _, width = like.shape
        size = max(end, self._capacity, 0 if buffer is None else 2 * buffer.shape[2])
        grown = like.new_empty(rows, heads, size, width)
        if buffer is not None:
            grown[:, :, : self.length] = buffer[:, :, : self.length]
        return grown


class Cache:
    """Keys, values and positions of the tokens read so far, for rows of equal length."""

    def __init__(self, layers: int, capacity: int = 64) -> None:
        self.layers = [LayerCache(capacity) for _ in range(layers)]
        self._positions: Tensor | None = None

    @property
    def length(self) -> int:
        """Tokens read so far."""
        return 0 if self._positions is None else self._positions.shape[1]

    def append_positions(self, positions: Tensor) -> Tensor:
        """Add the positions [B or 1, new] of the next keys and return all [B or 1, length]."""
        known = [] if self._positions is None else [self._positions]
        self._positions = torch.cat([*known, positions], dim=1)
        return self._positions


class Attention(nn.Module):
    """Multi-head self-attention; several heads may share their keys and values."""

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        self.heads = spec.heads
        self.kv_heads = spec.kv_heads or spec.heads
        self.head_width = spec.head_width
        self.qkv = BlockLinear(spec.width, spec.width + 2 * spec.kv_width, bias=spec.linear_bias)
        self.out = BlockLinear(spec.width, spec.width, bias=spec.linear_bias)

    def forward(
        self,
        x: Tensor,
        mask: AttentionMask,
        position: PositionScheme,
        positions: Tensor,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Return token vectors [B, T, width] from x [B, T, width] at positions [B or 1, T]."""
        mixed = (
            self._fused(x, mask, position, positions, cache)
            if mask.products is None
            else self._products(x, mask.products)
        )
        result: Tensor = self.out(mixed)
        return result

    def _fused(
        self,
        x: Tensor,
        mask: AttentionMask,
        position: PositionScheme,
        positions: Tensor,
        cache: LayerCache | None,
    ) -> Tensor:
        """Return what each token reads [B, T, width], with torch's fused kernels."""
        rows, count, width = x.shape
        qkv: Tensor = self.qkv(x)
        if self.kv_heads == self.heads:
            split = qkv.view(rows, count, 3, self.heads, self.head_width)
            q, k, v = split.permute(2, 0, 3, 1, 4)  # each [B, heads, T, head width]
        else:
            split = qkv.view(rows, count, -1, self.head_width).transpose(1, 2)
            q, k, v = torch.split(split, [self.heads, self.kv_heads, self.kv_heads], dim=1)
        q, k = position.rotate(q, k, positions)
        if cache is not None:
            k, v = cache.append(k, v)
        if self.kv_heads != self.heads:
            shared = self.heads // self.kv_heads
            k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
        added = mask.allowed if mask.scores is None else mask.scores.to(q.dtype)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=added, is_causal=mask.is_causal)
        return mixed.transpose(1, 2).reshape(rows, count, width)

    def _products(self, x: Tensor, products: Products) -> Tensor:
        """Return the same in bf16 on a CPU, as matrix products."""
        order = None if products.rotation is None else self.pair_order()
        qkv = self.by_head(self.qkv(x, order))
        return half_attention(qkv, products.rotation, products.added)

    def pair_order(self) -> Tensor:
        """Return the order of the outputs of `qkv` in which kernels rotate queries and keys."""
        return pair_order(self.heads, self.kv_heads, self.head_width)

    def by_head(self, qkv: Tensor) -> Tensor:
        """Return queries, keys and values [B, T, 3, heads, head width], shared ones repeated."""
        rows, count, _ = qkv.shape
        if self.kv_heads == self.heads:
            return qkv.view(rows, count, 3, self.heads, self.head_width)
        split = qkv.view(rows, count, -1, self.head_width)
        queries, others = split[:, :, : self.heads], split[:, :, self.heads :]
        others = others.repeat_interleave(self.heads // self.kv_heads, dim=2)
        return torch.cat((queries, others), dim=2).view(rows, count, 3, self.heads, -1)


def uses_products(dtype: torch.dtype | None, device: torch.device, count: int) -> bool:
    """Return whether attention in rows of `count` tokens is faster as matrix products."""
    return dtype == torch.bfloat16 and device.type == "cpu" and count <= LONGEST
