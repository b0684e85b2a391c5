"""No positions: nothing tells one position from another."""

from __future__ import annotations

import torch

from greffe.model.positions.none import NoPositions


def test_every_hook_returns_what_it_is_given():
    scheme, positions = NoPositions(), torch.arange(3)[None]
    x, q, k = torch.randn(1, 3, 4), torch.randn(1, 2, 3, 2), torch.randn(1, 2, 3, 2)
    assert scheme.embed(x, positions) is x
    turned = scheme.rotate(q, k, positions)
    assert turned[0] is q and turned[1] is k
    assert scheme.bias(positions, positions) is None
