"""Threads and memory settings of a computing process."""

from __future__ import annotations

import os

import torch

from greffe.machine import cores, keep_freed_memory


def set_up_compute(wanted: int = 0) -> int:
    """Use `wanted` threads, else OMP_NUM_THREADS, else the cores divided by the local ranks."""
    keep_freed_memory()
    given = os.environ.get("OMP_NUM_THREADS", "")
    ranks_here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    threads = wanted or (int(given) if given.isdigit() else 0) or max(1, cores() // ranks_here)
    torch.set_num_threads(threads)
    return threads
