"""The classification head: pooled hidden states to class scores."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from tests.unit.model.heads.filled import EMBEDDING, WIDTH, filled

from greffe.config.sections import Pooler
from greffe.model.heads.classification_head import Classification, ClassificationHead


@pytest.mark.parametrize("pooler", get_args(Pooler))
def test_empty_rows_give_finite_scores_and_gradients(pooler):
    head = filled(Classification(WIDTH, ClassificationHead(classes=3, pooler=pooler)))
    hidden = torch.randn(2, 4, WIDTH, requires_grad=True)
    scores = head(hidden, EMBEDDING, torch.tensor([0, 4]))
    scores.square().sum().backward()
    assert scores.shape == (2, 3)
    assert scores.isfinite().all()
    assert hidden.grad is not None
    assert hidden.grad.isfinite().all()
    assert hidden.grad[0].abs().sum() == 0


def test_dropout_is_active_in_training_only():
    head = filled(Classification(WIDTH, ClassificationHead(classes=2, dropout=0.5)))
    hidden = torch.randn(8, 3, WIDTH)
    assert not torch.equal(head(hidden, EMBEDDING), head(hidden, EMBEDDING))
    head.eval()
    assert torch.equal(head(hidden, EMBEDDING), head(hidden, EMBEDDING))
