"""Independent pieces of work on all cores, each piece on one. Knows nothing of what they do.

Small matrix products split over cores wait for each other more than they gain; whole batches side
by side do not. torch releases Python's lock while it computes, so threads are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def parallel_map(work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """`work` of every piece, in order; as many at once as torch has threads."""
    threads = torch.get_num_threads()
    if threads == 1 or len(pieces) < threads:
        return [work(piece) for piece in pieces]
    try:
        with ThreadPoolExecutor(threads, "pieces", torch.set_num_threads, (1,)) as pool:
            return list(pool.map(work, pieces))
    finally:
        # Each thread sets its own number, and the one that new threads begin with.
        torch.set_num_threads(threads)
