from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from greffe.kernels.int8_linear import LEVELS, Fused, Int8Linear, has_int8


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_this_torch_has_the_operator() -> None:
    assert has_int8()


@pytest.mark.parametrize("shift", [0.0, 2.0, -5.0])
@pytest.mark.parametrize("rows", [1, 3, 64])
def test_the_error_is_at_most_that_of_rounding(rows: int, shift: float) -> None:
    x, weight, bias = drawn(rows, 40) + shift, drawn(24, 40, seed=1), drawn(24, seed=2)
    exact = F.linear(x.double(), weight.double(), bias.double())
    # Half a step of each activation and of each weight, and their product.
    step = float(x.max().clamp(min=0) - x.min().clamp(max=0)) / LEVELS
    weight_steps = weight.abs().amax(1) / 127
    bound = (
        step / 2 * weight.abs().sum(1)
        + weight_steps / 2 * x.abs().sum(1, keepdim=True)
        + 40 * step / 2 * weight_steps / 2
    )
    error = (Int8Linear(weight, bias)(x) - exact).abs()
    assert (error <= 1.01 * bound + 1e-5).all()
    assert error.mean() < 0.15 * bound.mean()  # roundings cancel out


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
def test_activation_and_type_of_the_result(activation: Fused, dtype: torch.dtype) -> None:
    x, weight, bias = drawn(8, 64), drawn(16, 64, seed=1) / 8, drawn(16, seed=2)
    functions = {"none": lambda y: y, "relu": F.relu, "gelu": F.gelu}
    exact = functions[activation](F.linear(x, weight, bias))
    found = Int8Linear(weight, bias)(x, dtype, activation)
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), exact, atol=0.06, rtol=0.02)


def test_half_precision_activations_are_read_too() -> None:
    x, weight, bias = drawn(8, 64).bfloat16(), drawn(16, 64, seed=1) / 8, drawn(16, seed=2)
    found = Int8Linear(weight, bias)(x)
    torch.testing.assert_close(found, F.linear(x.float(), weight, bias), atol=0.06, rtol=0.02)


def test_zeros_are_exact() -> None:
    weight, bias = drawn(16, 64), drawn(16, seed=2)
    assert torch.equal(Int8Linear(weight, bias)(torch.zeros(3, 64)), bias.expand(3, 16))
    weight[5] = 0.0
    torch.testing.assert_close(Int8Linear(weight, bias)(drawn(3, 64))[:, 5], bias[5].expand(3))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_stays_so(value: float) -> None:
    x = drawn(3, 64)
    x[1, 7] = value
    assert Int8Linear(drawn(16, 64), drawn(16))(x).isnan().all()
