"""Attention, the one mask builder, and the cache of keys and values for generation.

Knows nothing of objectives: who may look at whom is said by the caller and drawn up here.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from greffe.kernels.wide_linear import wide_linear
from greffe.model.positions.scheme import PositionScheme


@dataclass(frozen=True)
class AttentionMask:
    """What attention may see; built once a forward and shared by all layers."""

    is_causal: bool
    """The fast causal path says it all; then `allowed` is None."""
    allowed: Tensor | None
    """bool [B or 1, 1, queries or 1, keys], True: may look; None: everything, or is_causal."""
    scores: Tensor | None = None
    """float [B or 1, heads, queries, keys] added to the scores, -inf where not allowed."""

    def with_bias(self, bias: Tensor | None) -> AttentionMask:
        """The same mask with a position scheme's bias [B or 1, heads, queries, keys] in it."""
        if bias is None:
            return self
        allowed = self.allowed
        if self.is_causal:
            allowed = _causal(bias.shape[-2], past=0, device=bias.device)
        if allowed is not None:
            bias = bias.masked_fill(~allowed, float("-inf"))
        return AttentionMask(is_causal=False, allowed=allowed, scores=bias)


def build_mask(
    queries: int,
    *,
    causal: bool,
    lengths: Tensor | None = None,
    documents: Tensor | None = None,
    past: int = 0,
    device: torch.device | None = None,
) -> AttentionMask:
    """Who may look at whom; without a tensor wherever the fast path of attention will do.

    lengths [B]: real tokens a row, padding on the right. documents [B, T]: number of each token's
    document, attention never crosses documents. past: cached keys before the queries, all of them
    real and of the same document. Every query keeps at least one key, padding and empty rows
    included: no row of scores is -inf throughout.
    """
    assert causal or not past, "cached keys never saw the queries: they serve causal reading only"
    assert documents is None or not past, "packed rows are not cached"
    if documents is not None:
        return AttentionMask(False, _documents(documents, lengths, causal=causal))
    if causal:
        # Right padding stands after every real token, which therefore cannot see it.
        if past == 0:
            return AttentionMask(True, None)
        if queries == 1:
            return AttentionMask(False, None)
        return AttentionMask(False, _causal(queries, past=past, device=device))
    if lengths is None:
        return AttentionMask(False, None)
    # An empty row looks at its first column, whatever stands there.
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
        # Padding may carry a document number of its own: it keeps itself.
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
        """Add [B, heads, new, head width] and return all that is cached."""
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
    """What a causal base has read so far, for a batch of equally long rows; without gradients."""

    def __init__(self, layers: int, capacity: int = 64) -> None:
        self.layers = [LayerCache(capacity) for _ in range(layers)]
        self._positions: Tensor | None = None

    @property
    def length(self) -> int:
        """Tokens read so far."""
        return 0 if self._positions is None else self._positions.shape[1]

    def append_positions(self, positions: Tensor) -> Tensor:
        """Note the positions [B or 1, new] of the next keys; all of them [B or 1, length]."""
        known = [] if self._positions is None else [self._positions]
        self._positions = torch.cat([*known, positions], dim=1)
        return self._positions


class Attention(nn.Module):
    """Multi-head self-attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(
        self,
        x: Tensor,
        mask: AttentionMask,
        position: PositionScheme,
        positions: Tensor,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """New token vectors [B, T, width] from x [B, T, width] at positions [B or 1, T]."""
        rows, count, width = x.shape
        split = wide_linear(x, self.qkv.weight, self.qkv.bias).view(
            rows, count, 3, self.heads, width // self.heads
        )
        q, k, v = split.permute(2, 0, 3, 1, 4)  # each [B, heads, T, head width]
        q, k = position.rotate(q, k, positions)
        if cache is not None:
            k, v = cache.append(k, v)
        seen = mask.allowed if mask.scores is None else mask.scores.to(q.dtype)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=mask.is_causal)
        result: Tensor = self.out(mixed.transpose(1, 2).reshape(rows, count, width))
        return result
