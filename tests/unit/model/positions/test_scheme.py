"""The positions of a row, and the angles that two schemes share."""

from __future__ import annotations

import pytest
import torch

from greffe.model.positions.scheme import angles, default_positions

CPU = torch.device("cpu")


def test_default_positions_continue_after_the_past_and_restart_in_each_document():
    assert default_positions(3, past=4, device=CPU).tolist() == [[4, 5, 6]]
    documents = torch.tensor([[0, 0, 0, 1, 1, 2], [7, 7, 3, 3, 3, 3]])
    restarted = default_positions(6, documents=documents, device=CPU)
    assert restarted.tolist() == [[0, 1, 2, 0, 1, 0], [0, 1, 0, 1, 2, 3]]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_angles_have_at_least_single_precision(dtype):
    found = angles(torch.tensor([0, 4001]), width=3, base=100.0, dtype=dtype)
    assert found.dtype == torch.promote_types(dtype, torch.float32)
    assert found.tolist() == [[0, 0], pytest.approx([4001, 4001 / 100 ** (2 / 3)])]
