"""Rows of tokens through a model: batched by length, side by side, results in the rows' order.

Knows rows and a model, not what is made of its hidden states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from greffe.data.batches import pad_rows
from greffe.inference.forward import device_of, evaluation_mode
from greffe.inference.parallel import parallel_map
from greffe.model.model import Model

BATCH_TOKENS = 4096
PADDING_SHARE = 0.05


def forward_rows(
    model: Model,
    rows: Sequence[np.ndarray],
    read: Callable[[Tensor, Tensor | None], Tensor],
    width: int,
    *,
    pad: int,
    batch_tokens: int = BATCH_TOKENS,
) -> Tensor:
    """What `read(ids, lengths)` makes of rows <sos>…<eos>: [N, width], on the CPU."""
    device = device_of(model)
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    # The longest batches first: the short ones fill up what is left of the cores' time.
    batches = list(_batches(order, rows, batch_tokens))[::-1]

    def work(places: list[int]) -> Tensor:
        ids, lengths = pad_rows([rows[place] for place in places], pad)
        lengths = None if lengths is None else lengths.to(device)
        with torch.inference_mode():  # which each thread enters by itself
            return read(ids.to(device), lengths).float().cpu()

    result = torch.empty(len(rows), width)
    with evaluation_mode(model):
        for places, found in zip(batches, parallel_map(work, batches), strict=True):
            result[places] = found
    return result


def _batches(
    order: Sequence[int], rows: Sequence[np.ndarray], batch_tokens: int
) -> Iterator[list[int]]:
    """Neighbours by length together: as many as fit, as long as hardly any padding is needed."""
    batch: list[int] = []
    real = 0
    for place in order:
        length = len(rows[place])
        # Sorted from short to long: the newcomer gives the batch its width.
        padded = (len(batch) + 1) * length
        if batch and (padded > batch_tokens or padded - real - length > PADDING_SHARE * padded):
            yield batch
            batch, real = [], 0
        batch.append(place)
        real += length
    if batch:
        yield batch
