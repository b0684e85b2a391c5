"""ELECTRA in greffe computes what it computes in transformers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.unit.interop.huggingface.same_as_transformers import check_same, imported, randomized
from transformers import (
    ElectraConfig,
    ElectraForMaskedLM,
    ElectraForPreTraining,
    ElectraForSequenceClassification,
    ElectraModel,
)

CONFIG: dict[str, Any] = {
    "vocab_size": 61,
    "embedding_size": 16,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
}


@pytest.mark.parametrize("longest", [24, 32])
@pytest.mark.parametrize("embedding", [16, 24, 32])
def test_hidden_states_and_logits_are_the_same(embedding: int, longest: int) -> None:
    config = ElectraConfig(**{**CONFIG, "embedding_size": embedding})
    theirs = randomized(ElectraForMaskedLM(config))
    own = check_same(theirs, "electra", causal=False, head="masked_token", longest=longest)
    assert set(own.heads) == {"masked_token"}
    assert (own.base.embedding_projection is None) == (embedding == 24)


@pytest.mark.parametrize("embedding", [16, 24])
def test_a_base_without_a_head_is_the_same(embedding: int) -> None:
    theirs = randomized(ElectraModel(ElectraConfig(**{**CONFIG, "embedding_size": embedding})))
    assert not check_same(theirs, "electra", causal=False, head=None).heads


def test_the_activation_of_the_head_is_always_gelu() -> None:
    theirs = randomized(ElectraForMaskedLM(ElectraConfig(**CONFIG, hidden_act="relu")))
    own = check_same(theirs, "electra", causal=False, head="masked_token")
    assert (own.spec.activation, own.spec.head_activation) == ("relu", "gelu")


@pytest.mark.parametrize("embedding", [16, 24])
def test_a_head_with_a_matrix_of_its_own_is_the_same(embedding: int) -> None:
    changes = {"embedding_size": embedding, "tie_word_embeddings": False}
    theirs = randomized(ElectraForMaskedLM(ElectraConfig(**{**CONFIG, **changes})))
    own = check_same(theirs, "electra", causal=False, head="masked_token")
    assert not torch.equal(own.state_dict()["heads.masked_token.weight"], own.base.embedding.weight)


@pytest.mark.parametrize("kind", [ElectraForPreTraining, ElectraForSequenceClassification])
def test_discriminators_and_classifiers_have_no_head_in_greffe(kind: Any) -> None:
    assert not imported(randomized(kind(ElectraConfig(**CONFIG))), "electra").heads
