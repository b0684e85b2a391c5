"""The next-token head: one linear layer."""

from __future__ import annotations

import pytest
import torch
from tests.unit.model.heads.filled import VOCAB, WIDTH, filled

from greffe.model.heads.next_token_head import NextTokenHead


@pytest.mark.parametrize("tied", [True, False])
def test_scores_are_one_linear_layer(tied):
    head = filled(NextTokenHead(tied=tied).build(WIDTH, VOCAB))
    hidden, embedding = torch.randn(2, 3, WIDTH), torch.randn(VOCAB, WIDTH)
    matrix = embedding if tied else head.weight
    assert head.features(hidden) is hidden
    torch.testing.assert_close(head(hidden, embedding), hidden @ matrix.T + head.bias)
