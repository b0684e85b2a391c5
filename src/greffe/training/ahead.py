"""The next step's batches, prepared in a thread while this step computes. Knows neither of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def prepared_ahead(prepare: Callable[[int], T]) -> Iterator[Callable[[int], T]]:
    """A function that gives what `prepare` gives for a step, and begins with the step after it.

    `prepare` is a pure function of the step: who calls it, and when, changes nothing.
    """
    waiting: dict[int, Future[T]] = {}
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches") as pool:

        def get(step: int) -> T:
            future = waiting.pop(step, None) or pool.submit(prepare, step)
            waiting.clear()
            waiting[step + 1] = pool.submit(prepare, step + 1)
            return future.result()

        yield get
