"""Vocabulary heads: one matrix, which a tied head shares with the embedding."""

from __future__ import annotations

import pytest
import torch
from tests.unit.model.heads.filled import SHAPE, VOCAB, WIDTH, filled

from greffe.model.heads.head import VocabularyHead, matrix_parameters


@pytest.mark.parametrize(
    ("tied", "shapes"),
    [
        (True, {"bias": (VOCAB,)}),
        (False, {"bias": (VOCAB,), "weight": (VOCAB, WIDTH)}),
    ],
)
def test_tied_heads_have_a_bias_and_untied_ones_also_a_matrix(tied, shapes):
    head = VocabularyHead(SHAPE, VOCAB, tied=tied)
    assert {name: value.shape for name, value in head.named_parameters()} == shapes
    formula, value = matrix_parameters(SHAPE, VOCAB, tied=tied)
    assert formula == ("11" if tied else "11 × 6 + 11")
    assert value == sum(parameter.numel() for parameter in head.parameters())


def test_tied_scores_send_gradients_to_the_embedding():
    head = filled(VocabularyHead(SHAPE, VOCAB, tied=True))
    embedding = torch.randn(VOCAB, WIDTH, requires_grad=True)
    head(torch.randn(2, WIDTH), embedding).square().sum().backward()
    assert embedding.grad is not None
    assert embedding.grad.abs().sum() > 0


def test_a_head_without_a_bias_adds_zeros():
    head = filled(VocabularyHead(SHAPE.model_copy(update={"head_bias": False}), VOCAB, tied=False))
    hidden = torch.randn(2, WIDTH)
    torch.testing.assert_close(head(hidden, torch.zeros(0)), hidden @ head.weight.t())
    assert matrix_parameters(SHAPE.model_copy(update={"head_bias": False}), VOCAB, tied=True) == (
        "0",
        0,
    )
