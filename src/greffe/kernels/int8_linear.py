"""A linear layer in int8 on a CPU, for inference, with oneDNN's product of bytes.

Weights are quantized once, symmetrically with a scale for each output. Activations are quantized in
each call, with one scale and zero point for the whole tensor, so that their range is used in full:
what GELU returns is hardly ever negative. Products are summed in 32 bits; bias and activation are
computed in fp32 before the result is rounded to its type.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import torch
from torch import Tensor

Fused = Literal["none", "relu", "gelu"]
"""Activations that the kernel computes."""
FUSED: tuple[Fused, ...] = get_args(Fused)
LEVELS = 254
"""Steps between the smallest and the largest activation: one less than bytes have, for rounding."""
ROUNDING = 1.5 * 2**23
"""Added to a small fp32 number, it leaves the nearest integer in the lowest bits."""


def has_int8() -> bool:
    """Return whether this torch has the operator: it is part of builds with oneDNN."""
    return torch._C._has_mkldnn and hasattr(torch.ops.onednn, "qlinear_pointwise")


class Int8Linear:
    """weight [out, in] and bias [out] of a linear layer, quantized; called with activations."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        exact = weight.detach().float()
        # A row of zeros keeps any scale; the smallest normal number avoids a division by zero.
        scales = (exact.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny)
        quantized = (exact / scales[:, None]).round().to(torch.int8)
        self.weight = torch.ops.onednn.qlinear_prepack(quantized, None)
        self.scales = scales
        self.zeros = torch.zeros(len(scales), dtype=torch.int64)
        self.bias = torch.zeros(len(scales)) if bias is None else bias.detach().float()

    def __call__(
        self, x: Tensor, dtype: torch.dtype = torch.float32, activation: Fused = "none"
    ) -> Tensor:
        """Return the layer's output [N, out] for x [N, in], in a type and after an activation."""
        low, high = (float(bound) for bound in torch.aminmax(x))
        if not math.isfinite(high - low):  # as a product of such activations would be
            return x.new_full((len(x), len(self.scales)), math.nan, dtype=dtype)
        low, high = min(low, 0.0), max(high, 0.0)  # zero is a level: it is quantized exactly
        scale = (high - low) / LEVELS or 1.0
        zero = round(-low / scale)
        result: Tensor = torch.ops.onednn.qlinear_pointwise(
            *(_quantized(x, scale, zero), scale, zero, self.weight, self.scales, self.zeros),
            *(self.bias, 1.0, 0, dtype, activation, [], "none" if activation == "gelu" else ""),
        )
        return result


def _quantized(x: Tensor, scale: float, zero: int) -> Tensor:
    """Return round(x / scale) + zero as unsigned bytes."""
    shifted = torch.add(torch.tensor(ROUNDING + zero), x.float(), alpha=1 / scale)
    return shifted.view(torch.int32).to(torch.uint8)  # keeps the lowest byte
