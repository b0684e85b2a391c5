"""DistilBERT in greffe computes what it computes in transformers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.unit.interop.huggingface.same_as_transformers import check_same, imported, randomized
from transformers import (
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForSequenceClassification,
    DistilBertModel,
)

CONFIG: dict[str, Any] = {
    "vocab_size": 61,
    "dim": 24,
    "n_layers": 3,
    "n_heads": 4,
    "hidden_dim": 40,
    "max_position_embeddings": 32,
}


@pytest.mark.parametrize("longest", [24, 32])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_hidden_states_and_logits_are_the_same(activation: str, longest: int) -> None:
    theirs = randomized(DistilBertForMaskedLM(DistilBertConfig(**CONFIG, activation=activation)))
    own = check_same(theirs, "distilbert", causal=False, head="masked_token", longest=longest)
    assert set(own.heads) == {"masked_token"}


def test_a_base_without_a_head_is_the_same() -> None:
    theirs = randomized(DistilBertModel(DistilBertConfig(**CONFIG)))
    assert not check_same(theirs, "distilbert", causal=False, head=None).heads


def test_sinusoidal_positions_are_those_of_the_file() -> None:
    theirs = DistilBertForMaskedLM(DistilBertConfig(**CONFIG, sinusoidal_pos_embds=True)).eval()
    own = check_same(theirs, "distilbert", causal=False, head="masked_token")
    table = theirs.distilbert.embeddings.position_embeddings.weight
    assert torch.equal(own.state_dict()["base.position.weight"], table)


def test_a_head_with_a_matrix_of_its_own_is_the_same() -> None:
    config = DistilBertConfig(**CONFIG, tie_word_embeddings=False)
    own = check_same(
        randomized(DistilBertForMaskedLM(config)), "distilbert", causal=False, head="masked_token"
    )
    assert not torch.equal(own.state_dict()["heads.masked_token.weight"], own.base.embedding.weight)


def test_a_classifier_of_a_fine_tuned_file_is_ignored() -> None:
    theirs = randomized(DistilBertForSequenceClassification(DistilBertConfig(**CONFIG)))
    assert not imported(theirs, "distilbert").heads
