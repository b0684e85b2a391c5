"""BERT in greffe computes what it computes in transformers."""

from __future__ import annotations

import pytest
import torch
from tests.unit.interop.huggingface.same_as_transformers import check_same, imported, randomized
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
    BertModel,
)

CONFIG = {
    "vocab_size": 61,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
}


@pytest.mark.parametrize("activation", ["gelu", "gelu_new"])
def test_hidden_states_and_logits_are_the_same(activation: str) -> None:
    theirs = randomized(BertForMaskedLM(BertConfig(**CONFIG, hidden_act=activation)))
    own = check_same(theirs, "bert", causal=False, head="masked_token")
    assert set(own.heads) == {"masked_token"}


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_a_head_with_a_matrix_of_its_own_is_the_same(activation: str) -> None:
    config = BertConfig(**CONFIG, hidden_act=activation, tie_word_embeddings=False)
    theirs = randomized(BertForMaskedLM(config))
    own = check_same(theirs, "bert", causal=False, head="masked_token")
    assert not torch.equal(own.state_dict()["heads.masked_token.weight"], own.base.embedding.weight)


def test_rows_of_the_whole_context_are_the_same() -> None:
    theirs = randomized(BertForMaskedLM(BertConfig(**CONFIG)))
    own = check_same(theirs, "bert", causal=False, head="masked_token", longest=32)
    assert own.spec.context == 32


def test_the_pooler_is_the_same() -> None:
    theirs = randomized(BertModel(BertConfig(**CONFIG)))
    own = check_same(theirs, "bert", causal=False, head=None)
    ids = torch.randint(61, (2, 9))
    with torch.inference_mode():
        pooled = own(ids, "pooled", causal=False)
        torch.testing.assert_close(pooled, theirs(ids).pooler_output, atol=1e-4, rtol=0)


def test_a_classifier_of_a_fine_tuned_file_is_ignored() -> None:
    theirs = randomized(BertForSequenceClassification(BertConfig(**CONFIG)))
    assert set(imported(theirs, "bert").heads) == {"pooled"}


def test_a_file_of_both_pretraining_tasks_gives_both_heads() -> None:
    theirs = randomized(BertForPreTraining(BertConfig(**CONFIG)))
    assert set(imported(theirs, "bert").heads) == {"masked_token", "pooled"}
