from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from greffe.kernels import vocabulary_loss as kernel
from greffe.kernels.vocabulary_loss import vocabulary_loss, vocabulary_nll

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def two_rows_a_chunk(monkeypatch):
    monkeypatch.setattr(kernel, "CHUNK_BYTES", 2 * 9 * 8)


def make(rows: int = 7, vocab: int = 9, width: int = 4) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(1)
    shapes = [(rows, width), (vocab, width), (vocab,)]
    floats = [
        torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()
        for shape in shapes
    ]
    return *floats, torch.randint(vocab, (rows,), generator=generator)


def test_gradients_agree_with_finite_differences():
    *floats, targets = make()
    targets[2] = -100
    assert torch.autograd.gradcheck(lambda f, w, b: vocabulary_loss(f, w, b, targets), floats)


def test_several_chunks_equal_the_plain_loss_and_a_scaled_backward_scales():
    *floats, targets = make()
    (3 * vocabulary_loss(*floats, targets)).backward()
    found = [tensor.grad for tensor in floats]
    copies = [tensor.detach().clone().requires_grad_() for tensor in floats]
    (3 * F.cross_entropy(F.linear(*copies), targets, reduction="sum")).backward()
    torch.testing.assert_close(found, [tensor.grad for tensor in copies])


@pytest.mark.parametrize("frozen", [0, 1, 2])
def test_frozen_inputs_get_no_gradient_and_the_others_theirs(frozen):
    *floats, targets = make()
    vocabulary_loss(*floats, targets).backward()
    whole = [tensor.grad for tensor in floats]
    copies = [tensor.detach().clone().requires_grad_() for tensor in floats]
    copies[frozen].requires_grad_(False)
    vocabulary_loss(*copies, targets).backward()
    for index, (copy, expected) in enumerate(zip(copies, whole, strict=True)):
        assert (copy.grad is None) if index == frozen else torch.equal(copy.grad, expected)


@pytest.mark.parametrize("rows", [0, 3])
def test_nothing_to_predict_is_a_differentiable_zero(rows):
    *floats, targets = make(rows=rows)
    loss = vocabulary_loss(*floats, targets.fill_(-100))
    loss.backward()
    assert loss.item() == 0
    assert all(not tensor.grad.any() for tensor in floats)


def test_huge_logits_stay_finite():
    features = torch.full((2, 4), 1e4, dtype=torch.float64, requires_grad=True)
    _, weight, bias, _ = make()
    loss = vocabulary_loss(features, weight, bias, torch.tensor([0, 1]))
    loss.backward()
    assert loss.isfinite()
    assert features.grad.isfinite().all()


def test_nll_is_a_number_a_row_and_zero_where_ignored():
    *floats, targets = make()
    targets[[0, 6]] = -100
    nll = vocabulary_nll(*floats, targets)
    assert not nll.requires_grad
    torch.testing.assert_close(
        nll, F.cross_entropy(F.linear(*floats), targets, reduction="none").detach()
    )


def test_without_gradients_the_loss_is_the_same_number():
    *floats, targets = make()
    with torch.no_grad():
        silent = vocabulary_loss(*floats, targets)
    assert not silent.requires_grad
    torch.testing.assert_close(silent, vocabulary_loss(*floats, targets).detach())


def test_no_tensor_holds_the_logits_of_more_than_one_chunk(monkeypatch):
    monkeypatch.setattr(kernel, "CHUNK_BYTES", 8 * 1000 * 4)
    features, weight, bias = torch.randn(200, 4), torch.randn(1000, 4), torch.zeros(1000)
    sizes: list[int] = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                sizes.append(result.numel())
            return result

    with Watch():
        vocabulary_loss(features, weight.requires_grad_(), bias, torch.randint(1000, (200,)))
    assert max(sizes) == 8 * 1000
