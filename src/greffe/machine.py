"""What this machine has, and how its memory and cores are used. Knows nothing of what for."""

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
_LARGEST = 32 * 2**20  # bytes: beyond this, what is kept would lie about in pieces
_MOMENT = "30000"  # turns of a loop, about a tenth of a millisecond


def cores() -> int:
    """The cores that this process may use: fewer than the machine has, in a container."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_freed_memory() -> bool:
    """Ask the C library to keep what is freed for the next tensor; False where it cannot be asked.

    A training step frees and takes the same large tensors again and again. Given back and fetched
    from the system each time, their pages are cleared anew: thousands of page faults a step.
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
    """Ask OpenMP to spin only a moment where threads wait for each other; before torch is loaded.

    As it comes, it spins for a millisecond. Beside another busy process the thread that is waited
    for has then lost its core, and training runs at a fifth of its speed instead of at a half.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", _MOMENT)


def release_memory() -> None:
    """Return what earlier work freed to the system; without effect where it cannot be asked."""
    gc.collect()
    if sys.platform.startswith("linux"):
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


@dataclass
class Memory:
    """Peak of resident memory in bytes; None where the system does not tell."""

    peak: int | None = None


@contextmanager
def measure_peak_memory() -> Iterator[Memory]:
    """The peak inside the block, known after it: Linux counts it, and can be told to start anew.

    What was freed before the block is given back first, so that it does not count.
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
    """What a reader of measurements wants to know of the machine."""
    import platform

    return {"system": platform.system(), "processor": platform.machine(), "cores": cores()}
