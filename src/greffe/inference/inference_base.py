"""A base in bf16 or int8 for inference on a CPU: weights are converted once, not in each pass.

Computes what `Base` computes, without what only training and generation need: dropout, gradients,
packed documents, a cache. Embedding, residual sums, norms and softmax are as precise as there; in
int8 it is the linear layers of the blocks that are quantized, attention is computed in bf16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from greffe.kernels.half_attention import LONGEST, by_head
from greffe.kernels.int8_linear import FUSED, Fused, Int8Linear
from greffe.kernels.linear import normalize
from greffe.model.adapters import BlockLinear
from greffe.model.attention import AttentionMask, build_mask
from greffe.model.base import Base
from greffe.model.layers import Block
from greffe.model.positions.scheme import default_positions

HALF = torch.bfloat16
PART_TOKENS = 1024
MULTIPLE = 128
Attend = Callable[[Tensor], Tensor]
"""Queries, keys and values [B, T, 3, heads, head width] → by head, [B, heads, T, head width]."""


class InferenceBase(Base):
    """A base whose linear layers are in bf16 or int8; shares embedding, positions and norms."""

    def __init__(self, base: Base, *, int8: bool) -> None:
        nn.Module.__init__(self)  # it makes no weights of its own
        self.embedding = base.embedding
        self.embedding_scale = base.embedding_scale
        self.embedding_norm = base.embedding_norm
        self.embedding_projection = base.embedding_projection
        self.position = base.position
        self.window, self.local_position = base.window, base.local_position
        self.final_norm = base.final_norm
        # Quantized layers read fp32 as fast as bf16.
        self.dtype = torch.float32 if int8 else HALF
        is_rotated = self.position.rotation(torch.zeros(1, 1), HALF) is not None
        layer = Int8Linear if int8 else HalfLinear
        self.layers = [
            InferenceLayer(block, layer, self.dtype, is_rotated)
            for block in base.blocks
            if isinstance(block, Block)
        ]

    def forward(
        self, ids: Tensor, *, causal: bool, lengths: Tensor | None = None, **other: Any
    ) -> Tensor:
        """Return hidden states [B, T, width] of ids [B, T]; the arguments are those of Base."""
        assert not [name for name, value in other.items() if value is not None]
        count = ids.shape[1]
        positions = default_positions(count, device=ids.device)
        mask = build_mask(count, causal=causal, lengths=lengths, device=ids.device)
        attends = [
            _short_rows(seen.with_products(position, positions, HALF))
            if count <= LONGEST
            else _long_rows(seen, position.rotation(positions, HALF))
            for seen, position in self.views(mask, positions, positions)
        ]
        x = self.embed(ids, positions)
        tokens = ids.numel()
        # Rounded up: a matrix product of a new size costs a millisecond, its kernel is built then.
        flat = x.new_zeros(-(-tokens // MULTIPLE) * MULTIPLE, x.shape[-1], dtype=self.dtype)
        flat[:tokens] = x.view(tokens, -1)
        for layer in self.layers:
            flat = layer(flat, ids.shape, attends[layer.block.is_local])
        x = flat[:tokens].view(*ids.shape, -1)
        return x if self.final_norm is None else normalize(x, self.final_norm)


class InferenceLayer:
    """One block, with its linear layers converted."""

    def __init__(
        self,
        block: Block,
        layer: type[HalfLinear | Int8Linear],
        dtype: torch.dtype,
        is_rotated: bool,
    ) -> None:
        attention, feed_forward = block.attention, block.feed_forward
        self.block = block
        self.dtype = dtype
        order = attention.pair_order() if is_rotated else None
        self.qkv = _converted(attention.qkv, layer, order)
        self.out = _converted(attention.out, layer)
        self.expand = _converted(feed_forward.expand, layer)
        self.contract = _converted(feed_forward.contract, layer)
        # A layer with a gate is activated in part: after the product, not by its kernel.
        fused = feed_forward.activation in FUSED and not feed_forward.is_gated
        self.activation: Fused | None = cast(Fused, feed_forward.activation) if fused else None

    def __call__(self, x: Tensor, shape: torch.Size, attend: Attend) -> Tensor:
        """[tokens, width] → [tokens, width]; the first B · T tokens are rows of a shape [B, T]."""
        first, second = self.block.attention_norm, self.block.feed_forward_norm
        if self.block.is_pre_norm:
            x = self._mixed(self.block.seen(x), shape, attend).add_(x)
            return self._fed(normalize(x, second), x)
        assert first is not None
        x = normalize(self._mixed(x, shape, attend).add_(x), first)
        return normalize(self._fed(x, x), second)

    def _mixed(self, x: Tensor, shape: torch.Size, attend: Attend) -> Tensor:
        rows, count = shape
        width = x.shape[1]
        qkv = self.qkv(x, HALF, "none")[: rows * count]
        attention = self.block.attention
        mixed = attend(attention.by_head(qkv.view(rows, count, -1)))
        flat = mixed.new_empty(len(x), width)
        flat[rows * count :] = 0.0
        by_token = flat[: rows * count].view(rows, count, attention.heads, -1)
        by_token.copy_(mixed.transpose(1, 2))
        return self.out(flat, self.dtype, "none")

    def _fed(self, x: Tensor, residual: Tensor) -> Tensor:
        result = torch.empty_like(residual)
        # In parts, so that the wide activations stay in the processor's cache.
        for start in range(0, len(x), PART_TOKENS):
            part = slice(start, start + PART_TOKENS)
            wider = self.expand(x[part], self.dtype, self.activation or "none")
            if self.activation is None:
                wider = self.block.feed_forward.between(wider)
            narrow = self.contract(wider, self.dtype, "none")
            torch.add(residual[part], narrow, out=result[part])
        return result


class HalfLinear:
    """weight [out, in] and bias [out] of a linear layer in bf16, called as Int8Linear is."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight = weight.detach().to(HALF)
        self.bias = None if bias is None else bias.detach().to(HALF)

    def __call__(self, x: Tensor, dtype: torch.dtype, activation: Fused) -> Tensor:
        """Return the layer's output [N, out] for x [N, in], in a type and after an activation."""
        result = F.linear(x, self.weight, self.bias)
        match activation:
            case "relu":
                result = result.relu_()
            case "gelu":
                result = F.gelu(result)
        return result.to(dtype)


def _converted(
    source: BlockLinear, layer: type[HalfLinear | Int8Linear], order: Tensor | None = None
) -> HalfLinear | Int8Linear:
    """Return a linear layer in bf16 or int8, its outputs in another order if one is given."""
    weight = source.merged()
    bias: Tensor | None = source.bias
    if order is not None:
        weight, bias = weight[order], None if bias is None else bias[order]
    return layer(weight, bias)


def _short_rows(mask: AttentionMask) -> Attend:
    """Return the attention of all layers of a pass, as matrix products."""
    assert mask.products is not None
    cos, sin = mask.products.rotation or (None, None)
    added = None if mask.products.added is None else mask.products.added.float()

    def attend(qkv: Tensor) -> Tensor:
        rows, count, _, heads, width = qkv.shape
        q, k, v = by_head(qkv, cos, sin)  # queries are scaled; each [B · heads, T, head width]
        scores = torch.bmm(q, k.transpose(1, 2)).view(rows, heads, count, count)
        # torch computes a softmax twice as fast in fp32 as in bf16.
        exact = scores.float() if added is None else torch.add(scores, added)
        probabilities = exact.softmax(-1).to(HALF).view(-1, count, count)
        return torch.bmm(probabilities, v).view(rows, heads, count, width)

    return attend


def _long_rows(mask: AttentionMask, rotation: tuple[Tensor, Tensor] | None) -> Attend:
    """Return the same with torch's fused kernel, which never holds all scores."""
    cos, sin = rotation or (None, None)

    def attend(qkv: Tensor) -> Tensor:
        rows, count, _, heads, width = qkv.shape
        q, k, v = (part.view(rows, heads, count, width) for part in by_head(qkv, cos, sin))
        added = mask.allowed if mask.scores is None else mask.scores.to(HALF)
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=added, is_causal=mask.is_causal, scale=1.0
        )

    return attend
