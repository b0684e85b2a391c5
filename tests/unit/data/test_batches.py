from __future__ import annotations

import numpy as np
import torch

from greffe.data.batches import Batch, pad_rows

PAD = 7


def test_shorter_rows_are_padded_and_lengths_returned() -> None:
    ids, lengths = pad_rows([np.array([1, 2, 3]), np.array([4])], PAD)
    assert ids.tolist() == [[1, 2, 3], [4, PAD, PAD]]
    assert lengths is not None and lengths.tolist() == [3, 1]
    assert ids.dtype == lengths.dtype == torch.int64


def test_rows_of_one_length_need_no_lengths() -> None:
    ids, lengths = pad_rows([np.array([1, 2], np.uint16), np.array([3, 4], np.uint16)], PAD)
    assert ids.tolist() == [[1, 2], [3, 4]]
    assert ids.dtype == torch.int64
    assert lengths is None


def nested() -> Batch:
    part = Batch(ids=torch.ones(1, 3, dtype=torch.int64), counts={"one": 2.0}, tokens=3)
    lengths = torch.tensor([2, 3])
    ids = torch.zeros(2, 3, dtype=torch.int64)
    return Batch(ids=ids, counts={"one": 2.0}, lengths=lengths, tokens=5, parts={"a": part})


def test_a_batch_that_is_in_place_is_not_copied() -> None:
    batch = nested()
    assert batch.to(torch.device("cpu"), non_blocking=True) is batch


def test_a_batch_moves_with_its_parts() -> None:
    batch = nested()
    moved = batch.to(torch.device("meta"), non_blocking=True)
    assert moved.ids.is_meta and moved.lengths is not None and moved.lengths.is_meta
    assert moved.parts["a"].ids.is_meta and moved.documents is None
    assert (moved.counts, moved.tokens) == (batch.counts, batch.tokens)
    assert moved.parts["a"].tokens == 3 and not batch.ids.is_meta
