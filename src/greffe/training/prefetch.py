"""The next step's batches, prepared in a thread while this step computes. Knows neither of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
LONG_STEP = 0.1  # seconds: shorter steps are busy with Python, which two threads only share


@contextmanager
def prefetch(prepare: Callable[[int], T]) -> Iterator[Callable[[int], T]]:
    """A function that gives what `prepare` gives for a step, and begins with the step after it.

    `prepare` is a pure function of the step: who calls it, and when, changes nothing.
    """
    waiting: dict[int, Future[T]] = {}
    last = float("-inf")
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches") as pool:

        def get(step: int) -> T:
            nonlocal last
            now = time.perf_counter()
            is_long, last = now - last >= LONG_STEP, now
            future = waiting.pop(step, None)
            waiting.clear()
            if is_long:
                future = future or pool.submit(prepare, step)
                waiting[step + 1] = pool.submit(prepare, step + 1)
            return prepare(step) if future is None else future.result()

        yield get
