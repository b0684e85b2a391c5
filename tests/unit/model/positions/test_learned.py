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
    scheme.check_length(8, None)
    scheme.check_length(20, torch.arange(8)[None])  # documents of a packed row
    for count, given in ((9, None), (1, torch.tensor([[8]]))):
        with pytest.raises(InputError) as caught:
            scheme.check_length(count, given)
        message = str(caught.value)
        assert "at most 8 tokens" in message
        assert "9 tokens" in message
        assert "rotary" in message
