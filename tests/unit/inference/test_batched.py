from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from greffe.data.padding import MAX_PADDING
from greffe.inference.batched import forward_rows, parallel_map
from greffe.model.model import Model

PAD = 1


def rows_of(lengths: list[int]) -> list[np.ndarray]:
    return [np.full(length, 10 + length) for length in lengths]


@pytest.fixture
def model(make_model: Callable[..., Model]) -> Model:
    return make_model("classification")


def test_results_come_in_the_order_of_the_rows(model: Model) -> None:
    rows = rows_of([5, 2, 9, 2, 7])

    def first_and_length(ids: Tensor, lengths: Tensor | None) -> Tensor:
        sizes = torch.full((len(ids),), ids.shape[1]) if lengths is None else lengths
        return torch.stack([ids[:, 0], sizes], dim=1)

    found = forward_rows(model, rows, first_and_length, 2, pad=PAD)
    assert found.tolist() == [[10 + len(row), len(row)] for row in rows]


def test_batches_are_bounded_and_hardly_padded(model: Model) -> None:
    rows = rows_of([3] * 40 + [4] * 3 + list(range(5, 60)))
    shapes: list[tuple[int, int, int]] = []

    def note(ids: Tensor, lengths: Tensor | None) -> Tensor:
        real = ids.numel() if lengths is None else int(lengths.sum())
        shapes.append((len(ids), ids.shape[1], real))
        return torch.zeros(len(ids), 1)

    forward_rows(model, rows, note, 1, pad=PAD, batch_tokens=100)
    assert sum(count for count, _, _ in shapes) == len(rows)
    assert sum(real for _, _, real in shapes) == sum(map(len, rows))
    for count, width, real in shapes:
        assert count * width <= 100
        assert count * width - real <= MAX_PADDING * count * width
    # A row that alone exceeds the limit is a batch of its own.
    shapes.clear()
    forward_rows(model, rows_of([9]), note, 1, pad=PAD, batch_tokens=4)
    assert shapes == [(1, 9, 9)]


def test_gradients_and_dropout_are_off_and_the_mode_is_restored(model: Model) -> None:
    def check(ids: Tensor, lengths: Tensor | None) -> Tensor:
        assert torch.is_inference_mode_enabled() and not model.training
        return torch.zeros(len(ids), 1)

    forward_rows(model, rows_of([3]), check, 1, pad=PAD)
    assert model.training


# --- parallel_map -------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def tensors(count: int = 12) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(20 + extra, 30, generator=generator) for extra in range(count)]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_are_the_plain_ones_in_order(threads: int) -> None:
    items = tensors()
    torch.set_num_threads(1)
    expected = [(item @ item.t()).exp() for item in items]
    torch.set_num_threads(threads)
    found = parallel_map(lambda item: (item @ item.t()).exp(), items)
    assert len(found) == len(expected)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_pieces_really_run_at_once() -> None:
    torch.set_num_threads(2)
    meeting = threading.Barrier(2)  # which one thread alone would never leave
    assert len(parallel_map(lambda item: meeting.wait(timeout=20), [1, 2, 3, 4])) == 4


def test_the_first_piece_may_end_last() -> None:
    torch.set_num_threads(2)
    second_is_done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert second_is_done.wait(timeout=20)
        else:
            second_is_done.set()
        return 10 * item

    assert parallel_map(work, [0, 1, 2]) == [0, 10, 20]


def test_each_piece_has_one_thread_and_the_caller_keeps_its_own_number() -> None:
    torch.set_num_threads(3)
    inside = parallel_map(lambda item: torch.get_num_threads(), range(9))
    assert inside == [1] * 9
    assert torch.get_num_threads() == 3
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert seen == [3], "a thread that begins later has the number too"


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_passes_through_and_the_thread_number_is_restored(threads: int) -> None:
    torch.set_num_threads(threads)

    def work(item: int) -> int:
        if item == 2:
            raise KeyError("item 2")
        return item

    with pytest.raises(KeyError, match="item 2"):
        parallel_map(work, range(5))
    assert torch.get_num_threads() == threads
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("items")]


@pytest.mark.parametrize(("threads", "items"), [(1, 5), (2, 1), (3, 2), (3, 0)])
def test_few_pieces_run_in_the_caller_with_all_threads(threads: int, items: int) -> None:
    torch.set_num_threads(threads)
    seen = parallel_map(
        lambda item: (threading.current_thread(), torch.get_num_threads()), range(items)
    )
    assert seen == [(threading.current_thread(), threads)] * items
