"""A parallel map over independent items, one thread per core.

Small matrix products gain little from several cores; whole batches in parallel do. torch releases
the GIL while it computes, so threads suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return `work(item)` of every item, in order, with as many threads as torch uses."""
    threads = torch.get_num_threads()
    if threads == 1 or len(items) < threads:
        return [work(item) for item in items]
    try:
        with ThreadPoolExecutor(threads, "items", torch.set_num_threads, (1,)) as pool:
            return list(pool.map(work, items))
    finally:
        # set_num_threads in a worker also changes the default of new threads.
        torch.set_num_threads(threads)
