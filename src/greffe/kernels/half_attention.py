"""Attention in bf16 on a CPU: batched matrix products, with scaling and rotation folded in.

The fused kernel of torch computes as fast in bf16 as in fp32, and its backward pass takes twice as
long. Plain products use the bf16 units: three times as fast for rows of 256 tokens. The price is a
matrix of probabilities for each row and head, kept for the backward pass, so rows must be short.

Queries and keys are copied into the layout of the products anyway. The copy also scales queries and
rotates both: of a head's columns, `first` and `second` halves are the pairs that are rotated.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

VECTOR = 32
LONGEST = 512
"""Tokens of a row: at twice as many, the fused kernel is as fast and keeps no probabilities."""


def pair_order(heads: int, kv_heads: int, head_width: int) -> Tensor:
    """Return an order of the outputs of queries, keys and values [(heads + 2 kv heads) · width].

    In it, the even columns of each head of queries and keys come before the odd ones. Scores do not
    change, and columns 2i and 2i + 1, which are rotated together, lie in different halves.
    """
    columns = torch.arange((heads + 2 * kv_heads) * head_width).view(-1, head_width)
    rotated, values = columns[: heads + kv_heads], columns[heads + kv_heads :]
    return torch.cat((torch.cat((rotated[:, 0::2], rotated[:, 1::2]), dim=-1), values)).flatten()


def half_attention(
    qkv: Tensor, rotation: tuple[Tensor, Tensor] | None, added: Tensor | None
) -> Tensor:
    """Return what each token reads, [B, T, heads · head width].

    qkv [B, T, 3, heads, head width] in bf16, the columns in `pair_order` if there is a rotation:
    cosines and sines [B or 1, T, head width / 2]. `added` to the scores, [B or 1, heads or 1, T or
    1, T], is -inf where a token may not attend.
    """
    cos, sin = (None, None) if rotation is None else rotation
    # torch leaves `apply` untyped.
    result: Tensor = _HalfAttention.apply(qkv, cos, sin, added)  # type: ignore[no-untyped-call]
    return result


class _HalfAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, qkv: Tensor, cos: Tensor | None, sin: Tensor | None, added: Tensor | None
    ) -> Tensor:
        rows, count, _, heads, width = qkv.shape
        q, k, v = by_head(qkv, cos, sin)  # each [B · heads, T, head width]
        scores = torch.bmm(q, k.transpose(1, 2))
        if added is not None:
            scores.view(rows, heads, count, count).add_(added)
        # torch's softmax of bf16 is slow for rows that do not fill its vectors.
        is_whole = count % VECTOR == 0
        exact = torch.softmax(scores, dim=-1, dtype=None if is_whole else torch.float32)
        probabilities = exact.to(scores.dtype)
        mixed = torch.bmm(probabilities, v)
        ctx.shape = qkv.shape
        ctx.save_for_backward(q, k, v, probabilities, cos, sin)
        by_token = mixed.view(rows, heads, count, width).transpose(1, 2)
        return by_token.reshape(rows, count, heads * width)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, probabilities, cos, sin = ctx.saved_tensors
        rows, count, _, heads, width = ctx.shape
        of_mixed = gradient.view(rows, count, heads, width).transpose(1, 2).reshape(v.shape)
        of_v = torch.bmm(probabilities.transpose(1, 2), of_mixed)
        of_probabilities = torch.bmm(of_mixed, v.transpose(1, 2))
        of_scores = torch._softmax_backward_data(
            of_probabilities, probabilities, -1, probabilities.dtype
        )
        of_q = torch.bmm(of_scores, k)
        of_k = torch.bmm(of_scores.transpose(1, 2), q)
        of_qkv = gradient.new_empty(ctx.shape)
        for number, part in enumerate((of_q, of_k, of_v)):
            source = part.view(rows, heads, count, width).transpose(1, 2)
            _copy(number, source, of_qkv[:, :, number], cos, None if sin is None else -sin)
        return of_qkv, None, None, None


def by_head(qkv: Tensor, cos: Tensor | None, sin: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return scaled queries, keys and values as [B · heads, T, head width], rotated."""
    rows, count, _, heads, width = qkv.shape
    parts = qkv.new_empty(3, rows, heads, count, width)
    by_token = parts.transpose(2, 3)  # [3, B, T, heads, head width]
    for number in range(3):
        _copy(number, qkv[:, :, number], by_token[number], cos, sin)
    q, k, v = parts.view(3, rows * heads, count, width)
    return q, k, v


def _copy(
    number: int, source: Tensor, target: Tensor, cos: Tensor | None, sin: Tensor | None
) -> None:
    """Copy queries (0), keys (1) or values (2) [B, T, heads, head width] to another layout.

    Queries are scaled, queries and keys rotated. With a negative sine it is its own gradient.
    """
    factor = source.shape[-1] ** -0.5 if number == 0 else 1.0
    if cos is not None and sin is not None and number < 2:
        _rotate(source, cos, sin, factor, target)
    elif number == 0:
        torch.mul(source, factor, out=target)
    else:
        target.copy_(source)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor, factor: float, out: Tensor) -> None:
    """Write x [B, T, heads, head width], rotated and multiplied by a factor, into `out`."""
    half = x.shape[-1] // 2
    cos, sin = (factor * cos)[:, :, None], (factor * sin)[:, :, None]
    first, second = x[..., :half], x[..., half:]
    torch.mul(first, cos, out=out[..., :half])
    out[..., :half].addcmul_(second, sin, value=-1)
    torch.mul(second, cos, out=out[..., half:])
    out[..., half:].addcmul_(first, sin)
