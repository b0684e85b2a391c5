"""The next-token head: one linear layer."""

from __future__ import annotations

import pytest
import torch
from tests.unit.model.heads.filled import SHAPE, VOCAB, WIDTH, filled

from greffe.model.heads.next_token_head import NextTokenHead


@pytest.mark.parametrize("tied", [True, False])
def test_scores_are_one_linear_layer(tied):
    head = filled(NextTokenHead(tied=tied).build(SHAPE, VOCAB))
    hidden, embedding = torch.randn(2, 3, WIDTH), torch.randn(VOCAB, WIDTH)
    matrix = embedding if tied else head.weight
    assert head.features(hidden) is hidden
    torch.testing.assert_close(head(hidden, embedding), hidden @ matrix.T + head.bias)


def test_a_narrow_embedding_has_a_layer_before_the_matrix() -> None:
    shape = SHAPE.model_copy(update={"embedding_width": 4})
    spec = NextTokenHead()
    head = filled(spec.build(shape, VOCAB))
    hidden, embedding = torch.randn(2, 3, WIDTH), torch.randn(VOCAB, 4)
    scores = hidden @ head.projection.weight.T @ embedding.T + head.bias
    torch.testing.assert_close(head(hidden, embedding), scores)
    counted = sum(parameter.numel() for parameter in head.parameters())
    assert spec.parameters(shape, VOCAB) == (f"{WIDTH} × 4 + {VOCAB}", counted)
