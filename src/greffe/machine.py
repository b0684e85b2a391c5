"""What this machine has, and how its memory and cores are used. Knows nothing of what for."""

from __future__ import annotations

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's numbers for mallopt
_NEVER = 2**30


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
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _NEVER) and mallopt(_TRIM_THRESHOLD, _NEVER))
