"""Run rows of tokens through a model: batched by length, in parallel, results in input order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from greffe.data.batches import pad_rows
from greffe.data.padding import group_by_length
from greffe.inference.forward import device_of, evaluation_mode
from greffe.model.model import Model

BATCH_TOKENS = 4096

Item = TypeVar("Item")
Result = TypeVar("Result")


def forward_rows(
    model: Model,
    rows: Sequence[np.ndarray],
    forward: Callable[[Tensor, Tensor | None], Tensor],
    width: int,
    *,
    pad: int,
    batch_tokens: int = BATCH_TOKENS,
) -> Tensor:
    """Return `forward(ids, lengths)` of rows <sos>…<eos> as one tensor [N, width] on the CPU."""
    device = device_of(model)
    batches = group_by_length(rows, batch_tokens)

    def work(indices: list[int]) -> Tensor:
        ids, lengths = pad_rows([rows[index] for index in indices], pad)
        lengths = None if lengths is None else lengths.to(device)
        with torch.inference_mode():  # a setting of each thread
            return forward(ids.to(device), lengths).float()

    result = torch.empty(len(rows), width)
    with evaluation_mode(model):
        # A GPU is given all batches before the first result is awaited; threads would not help it.
        is_cpu = device.type == "cpu"
        found = parallel_map(work, batches) if is_cpu else [work(batch) for batch in batches]
        for indices, part in zip(batches, found, strict=True):
            result[indices] = part.cpu()
    return result


def parallel_map(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return `work(item)` of every item, in order, with as many threads as torch uses.

    Small matrix products gain little from several cores; whole batches in parallel do. torch
    releases the GIL while it computes, so threads suffice.
    """
    threads = torch.get_num_threads()
    if threads == 1 or len(items) < threads:
        return [work(item) for item in items]
    try:
        with ThreadPoolExecutor(threads, "items", torch.set_num_threads, (1,)) as pool:
            return list(pool.map(work, items))
    finally:
        # set_num_threads in a worker also changes the default of new threads.
        torch.set_num_threads(threads)
