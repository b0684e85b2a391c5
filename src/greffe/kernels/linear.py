"""Linear layers and layer normalization for activations in fp32 or bf16.

The activations decide the precision; weights are kept in fp32 and converted for each product.

On a CPU, torch writes the bias of an fp32 product to the whole output before the product and sums
the whole gradient again for the bias: two passes over the largest tensors of a transformer. For
layers with more outputs than inputs, the input gets a column of ones and the weight its bias as
another column, so that the products do both. In bf16 the product's own kernel adds the bias.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

MULTIPLE = 16  # columns: aligns the rows of the widened tensors to vector registers


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x [..., in] @ weight [out, in].T + bias [out], equal to F.linear up to rounding."""
    outputs, inputs = weight.shape
    if x.dtype != weight.dtype:
        return F.linear(x, weight.to(x.dtype), None if bias is None else bias.to(x.dtype))
    is_plain = bias is None or x.dtype == torch.bfloat16 or x.device.type != "cpu"
    is_trained = torch.is_grad_enabled() and weight.requires_grad
    if is_plain or outputs <= inputs or not is_trained:
        # Copying the input would cost as much as it saves.
        return F.linear(x, weight, bias)
    # torch leaves `apply` untyped.
    flat: Tensor = _WideLinear.apply(x.reshape(-1, inputs), weight, bias)  # type: ignore[no-untyped-call]
    return flat.view(*x.shape[:-1], outputs)


Norm = nn.LayerNorm | nn.RMSNorm


def normalize(x: Tensor, norm: Norm, dtype: torch.dtype | None = None) -> Tensor:
    """Return a normalization, by default in the precision of x; it is computed in fp32."""
    if isinstance(norm, nn.RMSNorm):
        exact = x.to(norm.weight.dtype)
        return F.rms_norm(exact, norm.normalized_shape, norm.weight, norm.eps).to(dtype or x.dtype)
    # A CPU has a kernel for bf16 with weights in fp32, if there is a bias too.
    has_kernel = x.device.type == "cpu" and norm.bias is not None
    exact = x if has_kernel else x.to(norm.weight.dtype)
    result = F.layer_norm(exact, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
    return result.to(dtype or x.dtype)


class _WideLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        wide = _widened(x, None)
        ctx.save_for_backward(wide, weight)
        return wide @ _widened(weight, bias).t()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        wide, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        inputs = weight.shape[1]
        x_gradient = gradient @ weight if needs_x else None
        if not (needs_weight or needs_bias):
            return x_gradient, None, None
        # [in + 1, out] is faster than [out, in + 1].
        both = wide.t() @ gradient
        return x_gradient, both[:inputs].t(), both[inputs]


def _widened(x: Tensor, last: Tensor | None) -> Tensor:
    """Append `last` [N], or ones, as another column: [N, in] → [N, in + 1]."""
    rows, columns = x.shape
    padded = -(-(columns + 1) // MULTIPLE) * MULTIPLE
    wide = x.new_empty(rows, padded)[:, : columns + 1]
    wide[:, :columns] = x
    wide[:, columns] = 1.0 if last is None else last
    return wide
