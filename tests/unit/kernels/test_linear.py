"""The same as F.linear, forward and backward, for layers that grow their input and others."""

from __future__ import annotations

from itertools import product

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from greffe.kernels import linear as kernel
from greffe.kernels.linear import linear

torch.set_num_threads(1)

NAMES = ("x", "weight", "bias")
leading = st.lists(st.integers(0, 5), min_size=1, max_size=3)
widths = st.integers(1, 40)


def make(
    leading: list[int], inputs: int, outputs: int, dtype: torch.dtype = torch.float64, seed: int = 0
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = ((*leading, inputs), (outputs, inputs), (outputs,))
    return [
        torch.randn(*shape, dtype=dtype, generator=generator).requires_grad_() for shape in shapes
    ]


def results(function, tensors: list[Tensor]) -> list[Tensor]:
    """Output, and gradients of a sum whose terms all weigh differently."""
    copies = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in tensors]
    output = function(*copies)
    generator = torch.Generator().manual_seed(7)
    output.backward(torch.randn(output.shape, generator=generator).to(output))
    return [output.detach(), *(copy.grad for copy in copies)]


@pytest.fixture
def calls(monkeypatch):
    """The shapes of inputs that were widened."""
    seen: list[tuple[int, ...]] = []
    plain = kernel._widened

    def counted(x, last):
        seen.append(tuple(x.shape))
        return plain(x, last)

    monkeypatch.setattr(kernel, "_widened", counted)
    return seen


@settings(deadline=None, max_examples=80)
@given(leading=leading, inputs=widths, outputs=widths, seed=st.integers(0, 99))
def test_output_and_gradients_are_those_of_a_plain_layer(leading, inputs, outputs, seed):
    tensors = make(leading, inputs, outputs, seed=seed)
    torch.testing.assert_close(results(linear, tensors), results(F.linear, tensors))


@settings(deadline=None, max_examples=40)
@given(leading=leading, inputs=widths, outputs=widths, seed=st.integers(0, 99))
def test_rounding_in_single_precision_is_that_of_a_plain_layer(leading, inputs, outputs, seed):
    tensors = make(leading, inputs, outputs, torch.float32, seed)
    exact = results(F.linear, [tensor.detach().double().requires_grad_() for tensor in tensors])
    found = results(linear, tensors)
    assert all(tensor.dtype == torch.float32 for tensor in found)
    torch.testing.assert_close([t.double() for t in found], exact, rtol=1e-5, atol=2e-5)


@settings(deadline=None, max_examples=20)
@given(
    leading=st.lists(st.integers(0, 3), min_size=1, max_size=3),
    inputs=st.integers(1, 4),
    outputs=st.integers(1, 6),
)
def test_gradients_agree_with_finite_differences(leading, inputs, outputs):
    assert torch.autograd.gradcheck(linear, make(leading, inputs, outputs))


def test_a_row_alone_and_a_transposed_input_are_fine():
    x, weight, bias = make([7], 5, 11)
    torch.testing.assert_close(linear(x[2], weight, bias), F.linear(x[2], weight, bias))
    turned = torch.randn(5, 3, 2, dtype=torch.float64).permute(2, 1, 0)
    torch.testing.assert_close(linear(turned, weight, bias), F.linear(turned, weight, bias))


@pytest.mark.parametrize("outputs", [4, 9])
@pytest.mark.parametrize("moving", list(product([False, True], repeat=3))[1:])
def test_what_is_frozen_gets_no_gradient_and_the_others_theirs(moving, outputs):
    tensors = make([3, 2], 4, outputs)
    whole = results(F.linear, tensors)[1:]
    for tensor, is_moving in zip(tensors, moving, strict=True):
        tensor.requires_grad_(is_moving)
    found = results(linear, tensors)[1:]
    for name, gradient, expected, is_moving in zip(NAMES, found, whole, moving, strict=True):
        assert (gradient is not None) == is_moving, name
        if is_moving:
            torch.testing.assert_close(gradient, expected)


def test_with_everything_frozen_there_is_no_graph():
    tensors = [tensor.detach() for tensor in make([3], 4, 9)]
    assert not linear(*tensors).requires_grad


def test_only_a_layer_that_grows_and_learns_is_widened(calls):
    linear(*make([3, 2], 4, 9))
    assert calls == [(6, 4), (9, 4)]
    calls.clear()
    linear(*make([3], 4, 4))
    linear(*make([3], 9, 4))
    with torch.no_grad():
        silent = linear(*make([3], 4, 9))
    assert calls == []
    assert not silent.requires_grad
    assert torch.equal(silent, F.linear(*make([3], 4, 9)))
