"""A base in bf16 or int8 for inference on a CPU: weights are converted once, not in each pass.

Computes what `Base` computes, without what only training and generation need: dropout, gradients,
packed documents, a cache. Embedding, residual sums, norms and softmax are as precise as there; in
int8 it is the linear layers of the blocks that are quantized, attention is computed in bf16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from greffe.kernels.half_attention import LONGEST, by_head, pair_order
from greffe.kernels.int8_linear import Activation, Int8Linear
from greffe.kernels.linear import normalize
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
        self.position = base.position
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
        bias = self.position.bias(positions, positions)
        mask = build_mask(count, causal=causal, lengths=lengths, device=ids.device).with_bias(bias)
        x = self.embedding(ids)
        if self.embedding_scale != 1.0:
            x = x * self.embedding_scale
        x = self.position.embed(x, positions)
        if count <= LONGEST:
            attend = _short_rows(mask.with_products(self.position, positions, HALF))
        else:
            attend = _long_rows(mask, self.position.rotation(positions, HALF))
        tokens = ids.numel()
        # Rounded up: a matrix product of a new size costs a millisecond, its kernel is built then.
        flat = x.new_zeros(-(-tokens // MULTIPLE) * MULTIPLE, x.shape[-1], dtype=self.dtype)
        flat[:tokens] = x.view(tokens, -1)
        for layer in self.layers:
            flat = layer(flat, ids.shape, attend)
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
        self.heads = attention.heads
        outputs = len(attention.qkv.bias)
        head_width = outputs // 3 // self.heads
        order = pair_order(self.heads, head_width) if is_rotated else torch.arange(outputs)
        self.qkv = layer(attention.qkv.weight[order], attention.qkv.bias[order])
        self.out = layer(attention.out.weight, attention.out.bias)
        self.expand = layer(feed_forward.expand.weight, feed_forward.expand.bias)
        self.contract = layer(feed_forward.contract.weight, feed_forward.contract.bias)
        self.activation: Activation = (
            "relu" if isinstance(feed_forward.activation, nn.ReLU) else "gelu"
        )

    def __call__(self, x: Tensor, shape: torch.Size, attend: Attend) -> Tensor:
        """[tokens, width] → [tokens, width]; the first B · T tokens are rows of a shape [B, T]."""
        first, second = self.block.attention_norm, self.block.feed_forward_norm
        if self.block.is_pre_norm:
            x = self._mixed(normalize(x, first), shape, attend).add_(x)
            return self._fed(normalize(x, second), x)
        x = normalize(self._mixed(x, shape, attend).add_(x), first)
        return normalize(self._fed(x, x), second)

    def _mixed(self, x: Tensor, shape: torch.Size, attend: Attend) -> Tensor:
        rows, count = shape
        width = x.shape[1]
        qkv = self.qkv(x, HALF, "none")[: rows * count]
        mixed = attend(qkv.view(rows, count, 3, self.heads, width // self.heads))
        flat = mixed.new_empty(len(x), width)
        flat[rows * count :] = 0.0
        flat[: rows * count].view(rows, count, self.heads, -1).copy_(mixed.transpose(1, 2))
        return self.out(flat, self.dtype, "none")

    def _fed(self, x: Tensor, residual: Tensor) -> Tensor:
        result = torch.empty_like(residual)
        # In parts, so that the wide activations stay in the processor's cache.
        for start in range(0, len(x), PART_TOKENS):
            part = slice(start, start + PART_TOKENS)
            wider = self.expand(x[part], self.dtype, self.activation)
            narrow = self.contract(wider, self.dtype, "none")
            torch.add(residual[part], narrow, out=result[part])
        return result


class HalfLinear:
    """weight [out, in] and bias [out] of a linear layer in bf16, called as Int8Linear is."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self.weight, self.bias = weight.detach().to(HALF), bias.detach().to(HALF)

    def __call__(self, x: Tensor, dtype: torch.dtype, activation: Activation) -> Tensor:
        """Return the layer's output [N, out] for x [N, in], in a type and after an activation."""
        result = F.linear(x, self.weight, self.bias)
        match activation:
            case "relu":
                result = result.relu_()
            case "gelu":
                result = F.gelu(result)
        return result.to(dtype)


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
