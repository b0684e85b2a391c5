"""The classification head: pooled hidden states to class scores."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from tests.unit.model.heads.filled import EMBEDDING, SHAPE, VOCAB, WIDTH, filled

from greffe.config.sections import ModelSpec, Pooler
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import build_model


@pytest.mark.parametrize("pooler", get_args(Pooler))
def test_empty_rows_give_finite_scores_and_gradients(pooler):
    head = filled(ClassificationHead(classes=3, pooler=pooler).build(SHAPE, VOCAB))
    hidden = torch.randn(2, 4, WIDTH, requires_grad=True)
    tokens = [torch.randn(2, 4, WIDTH)] if head.reads_tokens else []
    scores = head(hidden, EMBEDDING, torch.tensor([0, 4]), *tokens)
    scores.square().sum().backward()
    assert scores.shape == (2, 3)
    assert scores.isfinite().all()
    assert hidden.grad is not None
    assert hidden.grad.isfinite().all()
    assert hidden.grad[0].abs().sum() == 0


def test_dropout_is_active_in_training_only():
    head = filled(ClassificationHead(classes=2, dropout=0.5).build(SHAPE, VOCAB))
    hidden = torch.randn(8, 3, WIDTH)
    assert not torch.equal(head(hidden, EMBEDDING), head(hidden, EMBEDDING))
    head.eval()
    assert torch.equal(head(hidden, EMBEDDING), head(hidden, EMBEDDING))


def test_the_mean_of_the_embedding_is_read_beside_that_of_the_hidden_states():
    shape = ModelSpec(width=8, embedding_width=4, heads=2, feed_forward=8, layers=1, context=8)
    head = ClassificationHead(classes=3, pooler="mean+embedding")
    model = build_model(shape, VOCAB, {"classification": head}, seed=0).eval()
    ids = torch.tensor([[3, 4, 5, 1, 1], [6, 7, 8, 9, 10]])
    lengths = torch.tensor([3, 5])
    hidden = model.base(ids, causal=False, lengths=lengths)
    embedded = model.base.embedding(ids)
    means = [
        torch.cat((hidden[i, :n].mean(0), embedded[i, :n].mean(0))) for i, n in ((0, 3), (1, 5))
    ]
    expected = model.heads["classification"].score(torch.stack(means))
    found = model(ids, "classification", causal=False, lengths=lengths)
    torch.testing.assert_close(found, expected)
    found[0, 0].backward()
    assert model.base.embedding.weight.grad[1].abs().sum() == 0  # padding learns nothing
