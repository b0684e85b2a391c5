"""Map a function over blocks with several processes, with results in input order."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from types import ModuleType
from typing import Any, TypeVar

from greffe.errors import RunError

BLOCKS_IN_FLIGHT = 2  # per process

_Block = TypeVar("_Block")
_Result = TypeVar("_Result")
_Context = TypeVar("_Context")

_context: Any = None  # of a worker process


def map_in_order(
    function: Callable[[_Context, _Block], _Result],
    context: _Context,
    blocks: Iterator[_Block],
    workers: int,
    *,
    hint: str,
) -> Generator[tuple[_Block, _Result]]:
    """Yield each block with function(context, block).

    With one worker, this process does the work. Otherwise, new processes receive the context once,
    and a few blocks per process are held in memory. `hint` is for the error if one of them dies.
    """
    if workers == 1:
        for block in blocks:
            yield block, function(context, block)
        return
    spawn = multiprocessing.get_context("spawn")  # fork would copy locks held by other threads
    pool = ProcessPoolExecutor(workers, spawn, initializer=_start_worker, initargs=(context,))
    waiting: deque[tuple[_Block, Future[_Result]]] = deque()
    try:
        for block in blocks:
            with hidden_main():
                waiting.append((block, pool.submit(_run, function, block)))
            if len(waiting) >= BLOCKS_IN_FLIGHT * workers:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()
    except BrokenProcessPool:
        raise RunError(
            "A worker process died.",
            expected=f"{workers} running processes",
            found="one of them was killed: the system may have run out of memory",
            hint=hint,
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker(context: object) -> None:
    global _context
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    threading.Thread(target=end_with_parent, daemon=True).start()
    _context = context


def end_with_parent() -> None:
    """Exit when the parent dies: a killed parent cannot end its workers."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _run(function: Callable[[Any, _Block], _Result], block: _Block) -> _Result:
    return function(_context, block)


@contextmanager
def hidden_main() -> Iterator[None]:
    """Start new processes without importing the user's script.

    They do not need it, a script without a main guard would run again in each of them, and the
    command line would import torch there.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
