from __future__ import annotations

import numpy as np
import torch

from greffe.data.batches import pad_rows

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
