"""Learned positions: rows of a table, and nothing beyond it."""

from __future__ import annotations

import pytest
import torch

from greffe.errors import InputError
from greffe.model.positions.learned import LearnedPositions


def test_rows_are_added_and_positions_beyond_them_refused():
    scheme = LearnedPositions(context=8, width=3)
    torch.nn.init.normal_(scheme.weight)
    x = torch.randn(2, 2, 3)
    positions = torch.tensor([[7, 0]])
    torch.testing.assert_close(scheme.embed(x, positions), x + scheme.weight[[7, 0]])
    with pytest.raises(InputError) as caught:
        scheme.embed(torch.zeros(1, 1, 3), torch.tensor([[8]]))
    message = str(caught.value)
    assert "at most 8 tokens" in message
    assert "9 tokens" in message
    assert "rotary" in message
