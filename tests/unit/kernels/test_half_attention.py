"""Attention by bf16 products against torch's attention in float64."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from greffe.kernels.half_attention import half_attention, pair_order

torch.set_num_threads(1)

ROWS, COUNT, HEADS, WIDTH = 3, 24, 2, 16
CLOSE = 0.015  # of the norm: bf16 has 8 significant bits, and errors of several products add up


def inputs(seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Return qkv [B, T, 3, heads, width] and a gradient of the result, exact in bf16."""
    generator = torch.Generator().manual_seed(seed)
    qkv = torch.randn(ROWS, COUNT, 3, HEADS, WIDTH, generator=generator).bfloat16()
    gradient = torch.randn(ROWS, COUNT, HEADS * WIDTH, generator=generator).bfloat16()
    return qkv, gradient


def turns() -> torch.Tensor:
    return torch.arange(COUNT)[None, :, None] * 10_000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)


def expected(qkv, gradient, added, rotated):
    """Return the exact result and the gradient of qkv; pairs are columns 2i and 2i + 1."""
    exact = qkv.double().requires_grad_()
    q, k, v = exact.permute(2, 0, 3, 1, 4)
    if rotated:
        factors = torch.polar(torch.ones_like(turns()), turns()).to(torch.complex128)[:, None]
        q, k = (
            torch.view_as_real(
                torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * factors
            ).flatten(-2)
            for x in (q, k)
        )
    mask = None if added is None else added.double()
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    result = mixed.transpose(1, 2).reshape(ROWS, COUNT, HEADS * WIDTH)
    result.backward(gradient.double())
    return result.detach(), exact.grad


def found(qkv, gradient, added, rotated):
    order = pair_order(HEADS, HEADS, WIDTH) if rotated else torch.arange(3 * HEADS * WIDTH)
    given = qkv.flatten(2)[..., order].view_as(qkv).requires_grad_()
    rotation = (turns().cos().bfloat16(), turns().sin().bfloat16()) if rotated else None
    result = half_attention(given, rotation, added)
    result.backward(gradient)
    by_column = torch.empty_like(given.grad.flatten(2))
    by_column[..., order] = given.grad.flatten(2)
    return result.detach(), by_column.view_as(qkv)


def masks() -> dict[str, torch.Tensor | None]:
    def forbid(allowed):
        return torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf")).bfloat16()

    lengths = torch.tensor([COUNT, 9, 1])
    slopes = torch.tensor([0.5, 0.25])[:, None, None]
    distances = (torch.arange(COUNT)[:, None] - torch.arange(COUNT)).abs()
    return {
        "none": None,
        "causal": forbid(torch.ones(1, 1, COUNT, COUNT, dtype=torch.bool).tril()),
        "padding": forbid((torch.arange(COUNT) < lengths[:, None])[:, None, None]),
        "bias": (-slopes * distances)[None].bfloat16(),
    }


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("mask", masks())
def test_result_and_gradient_are_those_of_exact_attention(mask, rotated):
    added = masks()[mask]
    for one, exact in zip(
        found(*inputs(), added, rotated), expected(*inputs(), added, rotated), strict=True
    ):
        assert one.dtype == torch.bfloat16
        assert (one.double() - exact).norm() < CLOSE * exact.norm()


def test_tokens_that_are_masked_have_no_say():
    qkv, gradient = inputs()
    added = masks()["padding"]
    before, _ = found(qkv, gradient, added, True)
    qkv[1, 9:] = 1e3
    after, _ = found(qkv, gradient, added, True)
    assert torch.equal(before[1, :9], after[1, :9])


def test_pairs_are_in_different_halves_and_values_stay():
    order = pair_order(HEADS, HEADS, WIDTH).view(3, HEADS, WIDTH)
    columns = torch.arange(3 * HEADS * WIDTH).view(3, HEADS, WIDTH)
    assert torch.equal(order[2], columns[2])
    for part in order[:2].flatten(0, 1):
        assert torch.equal(part[WIDTH // 2 :], part[: WIDTH // 2] + 1)
    assert torch.equal(order.flatten().sort().values, columns.flatten())


def test_without_gradients_nothing_is_kept():
    qkv, _ = inputs()
    with torch.no_grad():
        assert not half_attention(qkv.requires_grad_(), None, None).requires_grad
