"""Blocks worked on by several processes side by side, with the results in the order of the blocks.

Knows nothing of what is worked on. What a process needs besides its blocks it gets once.
"""

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

BLOCKS_IN_FLIGHT = 2  # a process

_Block = TypeVar("_Block")
_Result = TypeVar("_Result")
_Tool = TypeVar("_Tool")

_tool: Any = None  # of a worker process


def map_in_order(
    function: Callable[[_Tool, _Block], _Result],
    tool: _Tool,
    blocks: Iterator[_Block],
    workers: int,
    *,
    hint: str,
) -> Generator[tuple[_Block, _Result]]:
    """Each block with function(tool, block).

    One worker is this process; more are new ones, each of which is given the tool once, and at most
    a few blocks for each are held in memory. `hint` is for the user whose system ended one of them.
    """
    if workers == 1:
        for block in blocks:
            yield block, function(tool, block)
        return
    context = multiprocessing.get_context("spawn")  # forked, locks of other threads stay closed
    pool = ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(tool,))
    waiting: deque[tuple[_Block, Future[_Result]]] = deque()
    try:
        for block in blocks:
            with _hidden_main():
                waiting.append((block, pool.submit(_run, function, block)))
            if len(waiting) >= BLOCKS_IN_FLIGHT * workers:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()
    except BrokenProcessPool:
        raise RunError(
            "A worker process was ended from outside.",
            expected=f"{workers} processes that work side by side",
            found="one of them is gone: the system may have run out of memory",
            hint=hint,
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker(tool: object) -> None:
    global _tool
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _tool = tool


def _end_with_parent() -> None:
    """A parent that was killed cannot end its workers: they watch it themselves."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _run(function: Callable[[Any, _Block], _Result], block: _Block) -> _Result:
    return function(_tool, block)


@contextmanager
def _hidden_main() -> Iterator[None]:
    """Let new processes start without importing the user's script.

    They need nothing of it, a script without a main guard would start over in each of them, and
    the command line would load torch there.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
