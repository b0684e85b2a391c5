"""Pieces on all cores: the results, order, errors and thread numbers of one after the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from greffe.inference.parallel import parallel_map


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
