"""Cores and memory of this machine, and settings of the C library and OpenMP."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's numbers for mallopt
_NEVER = 2**30
_LARGEST = 32 * 2**20  # bytes: keeping larger blocks would fragment the heap
_SPIN_COUNT = "30000"  # loop iterations, about 0.1 ms


def cores() -> int:
    """Return the number of cores this process may use, which a container can restrict."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_freed_memory() -> bool:
    """Make the C library keep freed memory for the next tensor; return whether it could be set.

    A training step frees and allocates the same large tensors again and again. If each is returned
    to the system, its pages are cleared again: thousands of page faults per step.
    """
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settled = [mallopt(_MMAP_THRESHOLD, _LARGEST), mallopt(_TRIM_THRESHOLD, _NEVER)]
    return all(settled)


def limit_openmp_spinning() -> None:
    """Shorten OpenMP's busy-waiting at barriers; must be called before torch is imported.

    The default is about a millisecond. Next to another busy process, the waiting thread then keeps
    the core that the other threads need: training runs at a fifth of its speed instead of half.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", _SPIN_COUNT)


def release_memory() -> None:
    """Return freed memory to the system where the C library supports it."""
    gc.collect()
    if sys.platform.startswith("linux"):
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


@dataclass
class Memory:
    """Peak resident memory in bytes; None if the system does not report it."""

    peak: int | None = None


@contextmanager
def measure_peak_memory() -> Iterator[Memory]:
    """Measure the peak resident memory inside the block; available after the block, on Linux.

    Memory freed before the block is returned to the system first, so that it does not count.
    """
    release_memory()
    memory = Memory()
    counter, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    try:
        counter.write_text("5")
    except OSError:
        yield memory
        return
    yield memory
    for line in status.read_text().splitlines():
        if line.startswith("VmHWM:"):
            memory.peak = int(line.split()[1]) * 1024


def description() -> dict[str, str | int]:
    """Return the machine's description for published measurements."""
    import platform

    return {"system": platform.system(), "processor": platform.machine(), "cores": cores()}
