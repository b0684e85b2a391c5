"""The exact loss, row by row and in total, whatever is chunked, padded, shifted or left behind."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._pytree import tree_leaves

from greffe.kernels import vocabulary_loss as kernel
from greffe.kernels.vocabulary_loss import vocabulary_loss, vocabulary_nll

torch.set_num_threads(1)

Loss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
drawn = settings(deadline=None, max_examples=60)
shapes = {"rows": st.integers(0, 40), "vocab": st.integers(1, 150), "width": st.integers(1, 20)}
seeds = st.integers(0, 2**32 - 1)
ignored_fractions = st.sampled_from([0.0, 0.3, 1.0])


@pytest.fixture(autouse=True)
def smallest_chunks(monkeypatch):
    """Sixteen rows each."""
    monkeypatch.setattr(kernel, "CHUNK_BYTES", 1)


@pytest.fixture
def count_fallbacks(monkeypatch):
    """A list that grows by one at each chunk done by its maximum."""
    calls: list[int] = []
    plain = kernel._Chunk.exponentiate_by_maximum

    def counted(chunk):
        calls.append(chunk.rows.start)
        plain(chunk)

    monkeypatch.setattr(kernel._Chunk, "exponentiate_by_maximum", counted)
    return calls


def make(
    rows: int = 40,
    vocab: int = 9,
    width: int = 4,
    *,
    ignored: float = 0.0,
    spread: float = 1.0,
    dtype: torch.dtype = torch.float64,
    seed: int = 1,
) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    floats = [
        (torch.randn(*shape, dtype=dtype, generator=generator) * spread).requires_grad_()
        for shape in ((rows, width), (vocab, width), (vocab,))
    ]
    targets = torch.randint(vocab, (rows,), generator=generator)
    targets[torch.rand(rows, generator=generator) < ignored] = -100
    return *floats, targets


def plain_loss(features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(F.linear(features, weight, bias), targets, reduction="sum")


def results(loss_of: Loss, inputs: tuple[Tensor, ...], scale: float = 1.0) -> list[Tensor]:
    """Loss and its three gradients."""
    *floats, targets = inputs
    copies = [tensor.detach().clone().requires_grad_() for tensor in floats]
    loss = scale * loss_of(*copies, targets)
    loss.backward()
    return [loss.detach(), *(copy.grad for copy in copies)]


def same(first: list[Tensor], second: list[Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


def off(found: Tensor, exact: Tensor) -> float:
    return float((found - exact).abs().max()) if exact.numel() else 0.0


# --- the same numbers ---------------------------------------------------------------------------


@settings(deadline=None, max_examples=12)
@given(
    rows=st.integers(0, 20),
    vocab=st.integers(1, 8),
    width=st.integers(1, 3),
    ignored=ignored_fractions,
    seed=seeds,
)
def test_every_gradient_agrees_with_finite_differences(rows, vocab, width, ignored, seed):
    *floats, targets = make(rows, vocab, width, ignored=ignored, seed=seed)
    assert torch.autograd.gradcheck(lambda f, w, b: vocabulary_loss(f, w, b, targets), floats)


@drawn
@given(**shapes, ignored=ignored_fractions, seed=seeds)
def test_gradients_agree_with_differences_along_random_directions(
    rows, vocab, width, ignored, seed
):
    *floats, targets = make(rows, vocab, width, ignored=ignored, seed=seed, spread=0.5)
    assert torch.autograd.gradcheck(
        lambda f, w, b: vocabulary_loss(f, w, b, targets), floats, fast_mode=True
    )


@drawn
@given(**shapes, ignored=ignored_fractions, seed=seeds, spread=st.sampled_from([0.01, 1.0, 8.0]))
def test_loss_and_gradients_are_those_of_cross_entropy(rows, vocab, width, ignored, seed, spread):
    inputs = make(rows, vocab, width, ignored=ignored, seed=seed, spread=spread)
    torch.testing.assert_close(results(vocabulary_loss, inputs), results(plain_loss, inputs))


@drawn
@example(rows=1, vocab=138, width=15, ignored=0.0, seed=4976, spread=3.0)
@given(**shapes, ignored=ignored_fractions, seed=seeds, spread=st.sampled_from([0.01, 1.0, 3.0]))
def test_rounding_in_single_precision_is_no_worse_than_that_of_cross_entropy(
    rows, vocab, width, ignored, seed, spread
):
    inputs = make(
        rows, vocab, width, ignored=ignored, seed=seed, spread=spread, dtype=torch.float32
    )
    *floats, targets = inputs
    exact = results(plain_loss, (*(tensor.double() for tensor in floats), targets))
    found, plain = results(vocabulary_loss, inputs), results(plain_loss, inputs)
    # The terms of logits and of their log-sum are rounded in every row: a digit of all is lost; the
    # loss rounds the target's logit twice, in the product and in the shift.
    terms = F.linear(*(tensor.detach().abs() for tensor in floats))
    largest = float(terms.max()) if rows else 0.0
    digit = torch.finfo(torch.float32).eps * (1 + largest + math.log(vocab))
    tiny = [2 * rows * digit, 4 * spread * digit, 4 * spread * digit, 4 * digit]
    for ours, theirs, true, least in zip(found, plain, exact, tiny, strict=True):
        assert ours.dtype == torch.float32
        assert ((ours - true).abs() <= 3 * off(theirs, true) + least).all()


def test_chunks_change_nothing_but_rounding(monkeypatch):
    inputs = make(rows=75, vocab=70, ignored=0.1)
    several = results(vocabulary_loss, inputs)
    monkeypatch.setattr(kernel, "CHUNK_BYTES", 2**28)
    torch.testing.assert_close(results(vocabulary_loss, inputs), several)


def test_a_scaled_backward_scales():
    inputs = make(ignored=0.2)
    torch.testing.assert_close(
        results(vocabulary_loss, inputs, scale=-3.5), results(plain_loss, inputs, scale=-3.5)
    )


def test_nll_is_a_number_a_row_and_zero_where_ignored():
    *floats, targets = make()
    targets[[0, 17, 39]] = -100
    nll = vocabulary_nll(*floats, targets)
    assert not nll.requires_grad
    assert not nll[[0, 17, 39]].any()
    expected = F.cross_entropy(F.linear(*floats), targets, reduction="none").detach()
    torch.testing.assert_close(nll, expected)


def test_without_gradients_the_loss_is_the_same_number():
    *floats, targets = make(ignored=0.2)
    with torch.no_grad():
        silent = vocabulary_loss(*floats, targets)
    assert not silent.requires_grad
    torch.testing.assert_close(silent, vocabulary_loss(*floats, targets).detach())


@pytest.mark.parametrize("frozen", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
def test_frozen_inputs_get_no_gradient_and_the_others_theirs(frozen):
    *floats, targets = make()
    _, *whole = results(vocabulary_loss, (*floats, targets))
    for index in frozen:
        floats[index].requires_grad_(False)
    vocabulary_loss(*floats, targets).backward()
    for index, (tensor, expected) in enumerate(zip(floats, whole, strict=True)):
        assert (tensor.grad is None) if index in frozen else torch.equal(tensor.grad, expected)


def test_with_everything_frozen_there_is_no_graph():
    *floats, targets = make()
    loss = vocabulary_loss(*(tensor.detach() for tensor in floats), targets)
    assert not loss.requires_grad
    torch.testing.assert_close(loss, plain_loss(*floats, targets).detach())


@pytest.mark.parametrize("rows", [0, 3, 40])
def test_nothing_to_predict_is_a_differentiable_zero(rows):
    *floats, targets = make(rows=rows)
    loss = vocabulary_loss(*floats, targets.fill_(-100))
    loss.backward()
    assert loss.item() == 0
    assert all(not tensor.grad.any() for tensor in floats)


# --- rows that are predicted very badly ---------------------------------------------------------


def overflowing(
    rows: list[int], of: int = 40, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, ...]:
    """Some rows whose target is hundreds of logits below the best token."""
    features, weight, bias, targets = make(rows=of, dtype=dtype)
    with torch.no_grad():
        features[rows] *= 1000.0
        targets[rows] = F.linear(features, weight, bias)[rows].argmin(dim=1)
    return features, weight, bias, targets


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_overflowing_rows_are_done_again_by_their_maximum(count_fallbacks, dtype):
    inputs = overflowing(list(range(40)), dtype=dtype)
    found = results(vocabulary_loss, inputs)
    assert count_fallbacks == [0, 16, 32]
    torch.testing.assert_close(found, results(plain_loss, inputs))
    assert found[0] > 40 * 500


def test_good_rows_beside_overflowing_ones_keep_their_digits(count_fallbacks):
    inputs = overflowing([3, 20])
    found = results(vocabulary_loss, inputs)
    assert count_fallbacks == [0, 16]
    torch.testing.assert_close(found, results(plain_loss, inputs))
    *floats, targets = inputs
    expected = F.cross_entropy(F.linear(*floats), targets, reduction="none").detach()
    torch.testing.assert_close(vocabulary_nll(*floats, targets), expected)
    assert count_fallbacks == [0, 16, 0, 16]


def test_rows_that_are_predicted_well_need_no_maximum(count_fallbacks):
    features, weight, bias, targets = overflowing(list(range(40)))
    targets = F.linear(features, weight, bias).argmax(dim=1)
    found = results(vocabulary_loss, (features, weight, bias, targets))
    assert count_fallbacks == []
    assert 0 <= found[0] < 1
    assert all(tensor.isfinite().all() for tensor in found)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_a_number_stays_so(value):
    *floats, targets = make()
    with torch.no_grad():
        floats[0][5, 2] = value
    assert vocabulary_loss(*floats, targets).isnan()
    nll = vocabulary_nll(*floats, targets)
    assert nll[5].isnan()
    assert nll[16:].isfinite().all()


# --- memory that is kept ------------------------------------------------------------------------


def test_two_losses_may_wait_for_their_backward():
    """Hybrid objectives add up two before either is differentiated."""
    first, second = make(seed=1), make(rows=25, seed=2)
    expected = results(vocabulary_loss, first)[1:], results(vocabulary_loss, second)[1:]
    losses = [vocabulary_loss(*inputs) for inputs in (first, second)]
    sum(losses).backward()
    assert same([tensor.grad for tensor in first[:3]], expected[0])
    assert same([tensor.grad for tensor in second[:3]], expected[1])


@pytest.mark.parametrize("earlier", [(100, 200, 30), (41, 10, 5), (3, 2, 1)])
def test_nothing_is_left_of_an_earlier_call(earlier):
    inputs = make(ignored=0.2)
    expected = results(vocabulary_loss, inputs)
    features, weight, bias, targets = make(*earlier)
    nan = float("nan")
    with torch.no_grad():
        vocabulary_loss(features * nan, weight * nan, bias * nan, targets)
    assert same(results(vocabulary_loss, inputs), expected)
    results(vocabulary_loss, (features * nan, weight * nan, bias * nan, targets))
    assert same(results(vocabulary_loss, inputs), expected)
    *floats, targets = inputs
    assert vocabulary_nll(*floats, targets).isfinite().all()


def test_the_content_of_new_memory_does_not_matter():
    inputs = make()
    expected = results(vocabulary_loss, inputs)
    torch.use_deterministic_algorithms(True)  # fills it with NaN
    try:
        assert torch.empty(3).isnan().all()
        found = results(vocabulary_loss, inputs)
    finally:
        torch.use_deterministic_algorithms(False)
    assert same(found, expected)


def test_two_kinds_of_numbers_by_turns():
    single, double = make(dtype=torch.float32), make()
    expected = [results(plain_loss, inputs) for inputs in (single, double)]
    for _ in range(2):
        for inputs, plain in zip((single, double), expected, strict=True):
            torch.testing.assert_close(results(vocabulary_loss, inputs), plain)


def test_threads_do_not_disturb_each_other():
    inputs = [make(rows=64, vocab=300, width=32, seed=seed) for seed in (1, 2)]
    expected = [results(vocabulary_loss, each) for each in inputs]
    start = threading.Barrier(2)
    found: list[list[bool]] = [[], []]

    def work(number: int) -> None:
        start.wait(timeout=20)
        for _ in range(30):
            found[number].append(same(results(vocabulary_loss, inputs[number]), expected[number]))

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[True] * 30, [True] * 30]


def test_no_tensor_holds_the_logits_of_more_than_one_chunk(monkeypatch):
    monkeypatch.setattr(kernel, "CHUNK_BYTES", 32 * 1024 * 4)
    *floats, targets = make(rows=200, vocab=1000, dtype=torch.float32)
    sizes: list[int] = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            sizes.extend(leaf.numel() for leaf in tree_leaves(result) if isinstance(leaf, Tensor))
            return result

    with Watch():
        vocabulary_loss(*floats, targets).backward()
        vocabulary_nll(*floats, targets)
    table = 1024 * 16
    assert max(sizes) == max(32 * 1024, table)


def test_gradients_have_their_true_size():
    inputs = make(rows=21, vocab=67, width=5)
    for tensor, gradient in zip(inputs[:3], results(vocabulary_loss, inputs)[1:], strict=True):
        assert gradient.shape == tensor.shape
        assert gradient.is_contiguous()
        assert gradient.untyped_storage().nbytes() == gradient.numel() * gradient.element_size()


def test_training_follows_a_loss_in_inference_mode():
    weight = torch.randn(30_000, 4)  # larger than what other tests left behind
    features, bias, targets = torch.randn(5, 4), torch.zeros(30_000), torch.randint(30_000, (5,))
    with torch.inference_mode():
        vocabulary_nll(features, weight, bias, targets)
    vocabulary_loss(features, weight.requires_grad_(), bias, targets).backward()
    assert weight.grad.isfinite().all()


@pytest.mark.parametrize("level", [-9_990.0, -1e5, -1e8])
def test_padding_is_below_any_logit(level):
    torch.manual_seed(0)
    features = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(9, 4, dtype=torch.float64, requires_grad=True)
    bias = torch.full((9,), level, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(9, (5,))
    loss = vocabulary_loss(features, weight, bias, targets)
    found = torch.autograd.grad(loss, (features, weight, bias))
    plain = F.cross_entropy(F.linear(features, weight, bias), targets, reduction="sum")
    torch.testing.assert_close(loss, plain)
    torch.testing.assert_close(found, torch.autograd.grad(plain, (features, weight, bias)))
