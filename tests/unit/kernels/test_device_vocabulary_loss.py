"""The loss for GPUs, computed on the CPU: all logits at once, or in chunks."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from greffe.kernels import device_vocabulary_loss as kernel

torch.set_num_threads(1)


def make(rows=40, vocab=60, width=8):
    generator = torch.Generator().manual_seed(1)
    floats = [
        torch.randn(*shape, generator=generator).requires_grad_()
        for shape in ((rows, width), (vocab, width), (vocab,))
    ]
    targets = torch.randint(vocab, (rows,), generator=generator)
    targets[::7] = -100
    return floats, targets


@pytest.mark.parametrize("rows_at_once", [1, 7, 40])
def test_chunks_change_neither_loss_nor_gradients(monkeypatch, rows_at_once):
    floats, targets = make()
    monkeypatch.setattr(kernel, "CHUNK_BYTES", 4 * 60 * rows_at_once)
    loss = kernel.device_loss(*floats, targets)
    plain = F.cross_entropy(F.linear(*floats), targets, reduction="none")
    torch.testing.assert_close(loss, plain.sum())
    torch.testing.assert_close(kernel.device_nll(*floats, targets), plain.detach())
    torch.testing.assert_close(
        torch.autograd.grad(loss, floats), torch.autograd.grad(plain.sum(), floats)
    )


def test_a_chunk_keeps_no_logits(monkeypatch):
    floats, targets = make()
    monkeypatch.setattr(kernel, "CHUNK_BYTES", 4 * 60 * 10)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.shape) or t, lambda t: t):
        kernel.device_loss(*floats, targets)
    assert not [shape for shape in kept if 60 in shape[1:]]


def test_bf16_features_multiply_in_bf16_and_sum_in_fp32():
    (features, weight, bias), targets = make()
    loss = kernel.device_loss(features.bfloat16(), weight, bias, targets)
    assert loss.dtype == torch.float32
    exact = F.cross_entropy(F.linear(features, weight, bias), targets, reduction="sum")
    torch.testing.assert_close(loss, exact, rtol=0.01, atol=0)
