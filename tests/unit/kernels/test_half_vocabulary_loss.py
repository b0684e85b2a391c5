"""The loss with bf16 products against cross-entropy in float64: errors are bounded."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.kernels import half_vocabulary_loss as kernel
from greffe.kernels.vocabulary_loss import vocabulary_loss, vocabulary_nll

torch.set_num_threads(1)

LOSS_ERROR = 5e-4
"""Relative, of the sum."""
GRADIENT_ERROR = 0.01
"""Of the norm: bf16 rounds by at most 1/256, and three roundings add up."""


def make(rows=200, vocab=500, width=32, *, spread=0.3, bias=2.0, seed=1):
    """Return features that bf16 can hold, weight, bias and targets; half of these are likely."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(rows, width, generator=generator).bfloat16()
    weight = spread * torch.randn(vocab, width, generator=generator)
    biases = bias * torch.randn(vocab, generator=generator)
    targets = torch.randint(vocab, (rows,), generator=generator)
    best = F.linear(features.float(), weight, biases).argmax(dim=1)
    return features, weight, biases, torch.where(torch.arange(rows) % 2 == 0, best, targets)


def results(loss_of, features, weight, bias, targets):
    """Loss and its three gradients."""
    floats = [tensor.clone().requires_grad_() for tensor in (features, weight, bias)]
    loss = loss_of(*floats, targets)
    loss.backward()
    return [loss.detach(), *(tensor.grad for tensor in floats)]


def exact(features, weight, bias, targets):
    def loss_of(*given):
        return F.cross_entropy(F.linear(*given[:3]), given[3], reduction="sum")

    return results(loss_of, features.double(), weight.double(), bias.double(), targets)


def relative_error(found, truth):
    return float((found.double() - truth).norm() / truth.norm())


@pytest.mark.parametrize("spread", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("bias", [0.0, 5.0, 40.0])
def test_errors_of_loss_and_gradients_are_bounded(spread, bias):
    inputs = make(spread=spread, bias=bias)
    loss, *gradients = results(vocabulary_loss, *inputs)
    true_loss, *true_gradients = exact(*inputs)
    assert loss.dtype == torch.float32
    assert relative_error(loss, true_loss) < LOSS_ERROR
    for found, truth in zip(gradients, true_gradients, strict=True):
        assert relative_error(found, truth) < GRADIENT_ERROR
    assert [gradient.dtype for gradient in gradients] == [
        torch.bfloat16,
        torch.float32,
        torch.float32,
    ]


def test_a_constant_in_the_bias_changes_nothing():
    # Rounded to bf16, 300.7 would be 300 or 302, and every row's loss would be wrong by one.
    features, weight, bias, targets = make()
    plain = vocabulary_nll(features, weight, bias, targets)
    moved = vocabulary_nll(features, weight, bias + 300.7, targets)
    assert (plain - moved).abs().max() < 0.1


@settings(deadline=None, max_examples=40)
@given(
    rows=st.integers(0, 40),
    vocab=st.integers(1, 150),
    width=st.integers(1, 20),
    ignored=st.sampled_from([0.0, 0.3, 1.0]),
    chunk_rows=st.integers(1, 45),
    seed=st.integers(0, 2**32 - 1),
)
def test_chunks_and_ignored_targets(rows, vocab, width, ignored, chunk_rows, seed):
    features, weight, bias, targets = make(rows, vocab, width, seed=seed)
    drawn = torch.rand(rows, generator=torch.Generator().manual_seed(seed))
    targets[drawn < ignored] = -100
    before = kernel.CHUNK_BYTES
    kernel.CHUNK_BYTES = chunk_rows * 2 * (-(-vocab // 16) * 16)
    try:
        loss, *gradients = results(vocabulary_loss, features, weight, bias, targets)
        nll = vocabulary_nll(features, weight, bias, targets)
    finally:
        kernel.CHUNK_BYTES = before
    logits = F.linear(features.double(), weight.double(), bias.double())
    true_nll = F.cross_entropy(logits, targets, reduction="none")
    torch.testing.assert_close(nll.double(), true_nll, atol=0.05, rtol=0.01)
    torch.testing.assert_close(loss, nll.sum(), atol=1e-2, rtol=1e-4)
    counted = targets != -100
    assert torch.equal(nll[~counted], torch.zeros(int((~counted).sum())))
    assert torch.equal(gradients[0][~counted], torch.zeros_like(gradients[0][~counted]))
    if counted.any():
        truth = exact(features[counted], weight, bias, targets[counted])[1:]
        chosen = [gradients[0][counted], *gradients[1:]]
        one_hot = F.one_hot(targets[counted], vocab).float()
        of_targets = [one_hot @ weight, one_hot.t() @ features[counted].float(), one_hot.sum(0)]
        for found, true, part in zip(chosen, truth, of_targets, strict=True):
            # A gradient is the mean under the prediction less the target's part. Where both are
            # nearly equal (a vocabulary of one token: exactly), their rounding errors remain.
            assert (found.double() - true).norm() <= 0.02 * (true.norm() + part.norm())


def test_rows_that_would_overflow_are_shifted_by_their_maximum():
    features, weight, bias, targets = make(bias=0.0)
    bias[7] = 300.0  # exp(300) is not a number that fp32 can hold
    targets[targets == 7] = 8
    loss, *gradients = results(vocabulary_loss, features, weight, bias, targets)
    true_loss, *true_gradients = exact(features, weight, bias, targets)
    assert relative_error(loss, true_loss) < LOSS_ERROR
    for found, truth in zip(gradients, true_gradients, strict=True):
        assert relative_error(found, truth) < GRADIENT_ERROR


def test_a_loss_that_is_not_finite_stays_so():
    features, weight, bias, targets = make()
    weight[0, 0] = float("nan")
    assert not vocabulary_loss(features, weight, bias, targets).isfinite()


def test_frozen_inputs_get_no_gradient():
    features, weight, bias, targets = make()
    bias.requires_grad_()
    vocabulary_loss(features, weight, bias, targets).backward()
    assert weight.grad is None and features.grad is None and bias.grad is not None
