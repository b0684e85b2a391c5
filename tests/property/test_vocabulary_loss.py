from __future__ import annotations

import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.kernels import vocabulary_loss as kernel

torch.set_num_threads(1)


@settings(deadline=None, max_examples=80)
@given(
    rows=st.integers(1, 20),
    vocab=st.integers(1, 40),
    width=st.integers(1, 8),
    rows_a_chunk=st.integers(1, 25),
    ignored=st.floats(0, 1),
    spread=st.sampled_from([0.01, 1.0, 50.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_loss_and_gradients_equal_cross_entropy(
    rows, vocab, width, rows_a_chunk, ignored, spread, seed
):
    generator = torch.Generator().manual_seed(seed)
    floats = [
        (torch.randn(*shape, dtype=torch.float64, generator=generator) * spread).requires_grad_()
        for shape in ((rows, width), (vocab, width), (vocab,))
    ]
    targets = torch.randint(vocab, (rows,), generator=generator)
    targets[torch.rand(rows, generator=generator) < ignored] = -100

    before = kernel.CHUNK_BYTES
    kernel.CHUNK_BYTES = rows_a_chunk * vocab * 8
    try:
        loss = kernel.vocabulary_loss(*floats, targets)
        nll = kernel.vocabulary_nll(*floats, targets)
    finally:
        kernel.CHUNK_BYTES = before
    gradients = torch.autograd.grad(loss, floats)

    plain = F.cross_entropy(F.linear(*floats), targets, reduction="none")
    expected = torch.autograd.grad(plain.sum(), floats)
    torch.testing.assert_close(loss, plain.sum())
    torch.testing.assert_close(nll, plain.detach())
    torch.testing.assert_close(gradients, expected)
