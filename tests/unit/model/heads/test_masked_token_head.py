"""The masked-token head: one layer before the matrix."""

from __future__ import annotations

import torch
from tests.unit.model.heads.filled import SHAPE, VOCAB, WIDTH, filled

from greffe.model.heads.masked_token_head import MaskedTokenHead


def test_there_is_a_layer_before_the_matrix():
    head = filled(MaskedTokenHead().build(SHAPE, VOCAB))
    hidden, embedding = torch.randn(2, 3, WIDTH), torch.randn(VOCAB, WIDTH)
    features = head.norm(torch.nn.functional.gelu(head.transform(hidden)))
    torch.testing.assert_close(head.features(hidden), features)
    weight, bias = head.decoder(embedding)
    torch.testing.assert_close(head(hidden, embedding), features @ weight.T + bias)


def test_its_activation_is_a_choice_of_its_own() -> None:
    shape = SHAPE.model_copy(update={"activation": "gelu", "head_activation": "relu"})
    head = filled(MaskedTokenHead().build(shape, VOCAB))
    hidden = torch.randn(2, 3, WIDTH)
    expected = head.norm(torch.relu(head.transform(hidden)))
    torch.testing.assert_close(head.features(hidden), expected)
