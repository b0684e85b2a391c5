"""The masked-token head: one layer before the matrix."""

from __future__ import annotations

import torch
from tests.unit.model.heads.filled import VOCAB, WIDTH, filled

from greffe.model.heads.masked_token_head import MaskedTokenHead


def test_there_is_a_layer_before_the_matrix():
    head = filled(MaskedTokenHead().build(WIDTH, VOCAB))
    hidden, embedding = torch.randn(2, 3, WIDTH), torch.randn(VOCAB, WIDTH)
    features = head.norm(torch.nn.functional.gelu(head.transform(hidden)))
    torch.testing.assert_close(head.features(hidden), features)
    weight, bias = head.decoder(embedding)
    torch.testing.assert_close(head(hidden, embedding), features @ weight.T + bias)
