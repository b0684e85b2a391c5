"""How this process uses the machine while it computes: threads and memory, set on purpose."""

from __future__ import annotations

import os

import torch

from greffe.machine import cores, keep_freed_memory


def set_up_compute(wanted: int = 0) -> int:
    """Use `wanted` threads, or what OMP_NUM_THREADS says, or this rank's share of the cores."""
    keep_freed_memory()
    told = os.environ.get("OMP_NUM_THREADS", "")
    ranks_here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    threads = wanted or (int(told) if told.isdigit() else 0) or max(1, cores() // ranks_here)
    torch.set_num_threads(threads)
    return threads
