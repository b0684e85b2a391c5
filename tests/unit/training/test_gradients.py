"""Row gradients train exactly as whole ones do; clipping and parts."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from greffe.training.gradients import Gradients

VOCAB, WIDTH, CLASSES = 60, 8, 5


class Bag(nn.Module):
    """Mean of the embeddings, then a linear layer."""

    def __init__(self, *, sparse: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(VOCAB, WIDTH, sparse=sparse)
        self.linear = nn.Linear(WIDTH, CLASSES)

    def loss(self, ids: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(self.linear(self.embedding(ids).mean(dim=1)), labels)


def part(step: int, number: int = 0) -> tuple[Tensor, Tensor]:
    """Few words, so that many come several times in a row and in a batch."""
    generator = torch.Generator().manual_seed(100 * step + number)
    ids = torch.randint(3 * step, 3 * step + 12, (6, 4), generator=generator)
    return ids, torch.randint(CLASSES, (6,), generator=generator)


def pairs(step: int, number: int = 0) -> tuple[Tensor, Tensor]:
    """Each word twice at most: the sum of two does not depend on their order."""
    generator = torch.Generator().manual_seed(100 * step + number)
    words = 3 * step + torch.arange(24) // 2
    ids = words[torch.randperm(24, generator=generator)].view(6, 4)
    return ids, torch.randint(CLASSES, (6,), generator=generator)


def train(
    model: Bag,
    *,
    clip: float,
    parts: int = 1,
    batch: Callable[[int, int], tuple[Tensor, Tensor]] = part,
    by: Callable[[Bag, float], float] | None = None,
) -> list[float]:
    """Norms of eight steps; gradients through `Gradients`, or `by` torch's own means."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1, fused=True)
    gradients = Gradients(list(model.parameters()))
    norms = []
    for step in range(8):
        gradients.clear()
        for number in range(parts):
            model.loss(*batch(step, number)).backward()
        if by is None:
            gradients.gather()
            norms.append(gradients.clip(clip))
        else:
            norms.append(by(model, clip))
        optimizer.step()
    return norms


def plainly(model: Bag, clip: float) -> float:
    return float(nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf))


def after_backward(*, sparse: bool = True) -> tuple[Bag, Gradients]:
    model = Bag(sparse=sparse)
    gradients = Gradients(list(model.parameters()))
    model.loss(*part(0)).backward()
    gradients.gather()
    return model, gradients


# --- the same training --------------------------------------------------------------------------


def test_rows_train_bit_for_bit_as_whole_tables() -> None:
    rows, whole = Bag(sparse=True), Bag(sparse=False)
    found = train(rows, clip=0, batch=pairs)
    expected = train(whole, clip=0, batch=pairs, by=plainly)
    assert found == pytest.approx(expected, rel=1e-6)
    for name, value in whole.state_dict().items():
        assert torch.equal(rows.state_dict()[name], value), name


@pytest.mark.parametrize(("clip", "parts"), [(0, 1), (0, 3), (0.3, 1), (0.3, 2), (100, 1)])
def test_rows_train_as_whole_tables_with_any_words_clipped_and_in_parts(
    clip: float, parts: int
) -> None:
    rows, whole = Bag(sparse=True), Bag(sparse=False)
    found = train(rows, clip=clip, parts=parts)
    expected = train(whole, clip=clip, parts=parts, by=plainly)
    assert found == pytest.approx(expected, rel=1e-6)
    assert clip != 0.3 or min(found) > 0.3, "nothing was clipped"
    for name, value in whole.state_dict().items():
        assert torch.allclose(rows.state_dict()[name], value, rtol=0, atol=1e-6), name


def test_an_embedding_that_is_a_matrix_too_has_one_whole_gradient() -> None:
    """The tied head's: what was looked up is added to it."""
    found = []
    for sparse in (True, False):
        model = Bag(sparse=sparse)
        gradients = Gradients(list(model.parameters()))
        ids, labels = part(0)
        hidden = model.embedding(ids).mean(dim=1)
        F.cross_entropy(hidden @ model.embedding.weight.t(), labels).backward()
        gradients.gather()
        found.append((model.embedding.weight.grad, gradients.clip(0.1)))
    (rows, norm), (whole, expected) = found
    assert not rows.is_sparse
    assert norm == pytest.approx(expected, rel=1e-6)
    assert torch.allclose(rows, whole, rtol=0, atol=1e-7)
    assert rows.any(dim=1).all()


# --- what is kept between steps -----------------------------------------------------------------


def test_every_parameter_gets_a_whole_gradient() -> None:
    model, _ = after_backward()
    whole, _ = after_backward(sparse=False)
    for found, expected in zip(model.parameters(), whole.parameters(), strict=True):
        assert not found.grad.is_sparse
        torch.testing.assert_close(found.grad, expected.grad)


@pytest.mark.parametrize("clip", [0.0, 1e-3])
def test_the_kept_table_is_all_zeros_again_after_a_step(clip: float) -> None:
    model, gradients = after_backward()
    table = model.embedding.weight.grad
    gradients.clip(clip)
    assert table.any()
    gradients.clear()
    assert not table.any()
    assert all(parameter.grad is None for parameter in model.parameters())
    model.loss(*part(3)).backward()
    gradients.gather()
    assert model.embedding.weight.grad.data_ptr() == table.data_ptr()
    assert set(table.any(dim=1).nonzero().flatten().tolist()) == set(part(3)[0].flatten().tolist())


def test_rows_that_are_not_numbers_leave_no_trace() -> None:
    model = Bag(sparse=True)
    gradients = Gradients(list(model.parameters()))
    (model.loss(*part(0)) * math.nan).backward()
    gradients.gather()
    table = model.embedding.weight.grad
    assert table.isnan().any()
    gradients.clear()
    assert not table.any()


def test_a_step_without_rows_follows_one_with_them() -> None:
    model, gradients = after_backward()
    gradients.clear()
    model.embedding.weight.requires_grad_(False)
    model.loss(*part(1)).backward()
    gradients.gather()
    assert model.embedding.weight.grad is None
    expected = nn.utils.get_total_norm([p.grad for p in model.linear.parameters()])
    assert gradients.clip(0) == pytest.approx(float(expected))


def test_a_step_with_a_whole_gradient_follows_one_with_rows() -> None:
    model, gradients = after_backward()
    gradients.clear()
    model.embedding.weight.square().sum().backward()
    expected = 2 * model.embedding.weight.detach()
    gradients.gather()
    assert gradients.clip(1.0) == pytest.approx(float(expected.norm()))
    factor = 1 / float(expected.norm())
    torch.testing.assert_close(model.embedding.weight.grad, expected * factor)


# --- clipping -----------------------------------------------------------------------------------


def test_a_limit_of_zero_is_none() -> None:
    model, gradients = after_backward()
    before = [parameter.grad.clone() for parameter in model.parameters()]
    assert gradients.clip(0) > 0
    for parameter, expected in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter.grad, expected)


def test_a_norm_below_the_limit_changes_nothing_and_one_above_is_brought_down_to_it() -> None:
    model, gradients = after_backward()
    before = [parameter.grad.clone() for parameter in model.parameters()]
    norm = gradients.clip(1e9)
    for parameter, expected in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter.grad, expected)
    assert gradients.clip(norm / 2) == norm
    for parameter, expected in zip(model.parameters(), before, strict=True):
        torch.testing.assert_close(parameter.grad, expected / 2, rtol=1e-4, atol=0)
    after = nn.utils.get_total_norm([parameter.grad for parameter in model.parameters()])
    assert float(after) == pytest.approx(norm / 2, rel=1e-4)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("name", ["embedding", "linear"])
def test_a_gradient_that_is_not_finite_is_reported_and_not_clipped(name: str, value: float) -> None:
    model = Bag(sparse=True)
    gradients = Gradients(list(model.parameters()))
    model.loss(*part(0)).backward()
    gradient = getattr(model, name).weight.grad
    (gradient._values() if gradient.is_sparse else gradient)[0, 0] = value
    gradients.gather()
    before = [parameter.grad.clone() for parameter in model.parameters()]
    assert not math.isfinite(gradients.clip(0.1))
    for parameter, expected in zip(model.parameters(), before, strict=True):
        torch.testing.assert_close(parameter.grad, expected, rtol=0, atol=0, equal_nan=True)


def test_parameters_without_gradient_are_passed_over() -> None:
    model = Bag(sparse=True)
    gradients = Gradients(list(model.parameters()))
    gradients.gather()
    assert gradients.clip(1.0) == 0
    assert all(parameter.grad is None for parameter in model.parameters())
    model.embedding(torch.tensor([3, 3, 7])).sum().backward()
    gradients.gather()
    assert gradients.clip(0) == pytest.approx(math.sqrt(WIDTH * (2**2 + 1)))
    assert model.linear.weight.grad is None


# --- sums of rows -------------------------------------------------------------------------------


def test_the_table_is_made_once():
    embedding = nn.Embedding(1000, 8, sparse=True)
    gradients = Gradients([embedding.weight])
    made = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor) and func.overloadpacket.__name__ in (
                "zeros_like",
                "new_zeros",
                "zeros",
            ):
                made.append(result.numel())
            return result

    for _ in range(3):
        gradients.clear()
        embedding(torch.tensor([1, 2, 2])).sum().backward()
        with Watch():
            gradients.gather()
    assert made.count(8000) == 1


def test_rows_are_summed_in_the_order_of_the_whole_table():
    torch.manual_seed(0)
    ids, outer = torch.randint(10, (200,)), torch.randn(200, 8)
    found = []
    for sparse in (True, False):
        embedding = nn.Embedding(10, 8, sparse=sparse)
        embedding(ids).backward(outer)
        Gradients([embedding.weight]).gather()
        found.append(embedding.weight.grad)
    assert torch.equal(*found)


def test_without_any_gradient_the_norm_is_zero() -> None:
    assert Gradients(list(Bag(sparse=False).parameters())).clip(1.0) == 0.0
