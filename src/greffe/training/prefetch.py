"""Prepare the next step's batches in a thread while the current step computes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import torch

from greffe.data.batches import Batch

Batches = Callable[[int], Sequence[Batch]]
T = TypeVar("T")
LONG_STEP = 0.1  # seconds: shorter steps mostly run Python code, which threads cannot speed up


def prefetch_batches(batches: Batches, device: torch.device) -> AbstractContextManager[Batches]:
    """Prefetch a training's batches; for CUDA in pinned memory, to be copied without waiting."""

    def pinned(step: int) -> Sequence[Batch]:
        with torch.cuda.device(device):  # a setting of each thread
            return [part.pinned() for part in batches(step)]

    prepare: Batches = pinned if device.type == "cuda" else batches
    return prefetch(prepare, always=device.type != "cpu")


@contextmanager
def prefetch(prepare: Callable[[int], T], *, always: bool = False) -> Iterator[Callable[[int], T]]:
    """Return a function that returns `prepare(step)` and starts preparing the step after it.

    `prepare` must be a pure function of the step, so that neither thread nor order matters.
    always: also if steps are short; a GPU computes them, so that the host has time.
    """
    waiting: dict[int, Future[T]] = {}
    last = float("-inf")
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches") as pool:

        def get(step: int) -> T:
            nonlocal last
            now = time.perf_counter()
            is_long, last = always or now - last >= LONG_STEP, now
            future = waiting.pop(step, None)
            waiting.clear()
            if is_long:
                future = future or pool.submit(prepare, step)
                waiting[step + 1] = pool.submit(prepare, step + 1)
            return prepare(step) if future is None else future.result()

        yield get
