"""Parameters of published shapes: greffe's formulas and what is folded give the published count."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    BertModel,
    CamembertConfig,
    CamembertForMaskedLM,
    CamembertModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertModel,
    ElectraConfig,
    ElectraForMaskedLM,
    ElectraModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface import families
from greffe.interop.huggingface.assemble import plan_tensors
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import Family
from greffe.model.formulas import count_parameters
from greffe.model.model import empty_model

assert families
ROBERTA = {"max_position_embeddings": 514, "layer_norm_eps": 1e-5, "type_vocab_size": 1}
MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}
CAMEMBERT = {**ROBERTA, "vocab_size": 32_005}
XLM_R = {**ROBERTA, "vocab_size": 250_002}
SMOL = {
    "vocab_size": 49_152,
    "hidden_size": 576,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "intermediate_size": 1536,
    "tie_word_embeddings": True,
}
ELECTRA_BASE = {
    "embedding_size": 768,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}


@pytest.mark.parametrize(
    ("family", "kind", "config", "published"),
    [
        pytest.param("bert", BertModel, BertConfig(), 109_482_240, id="BERT-base"),
        pytest.param("bert", BertModel, BertConfig(**MINILM), 22_713_216, id="MiniLM-L6"),
        pytest.param("roberta", RobertaModel, RobertaConfig(**ROBERTA), 124_645_632, id="RoBERTa"),
        pytest.param(
            "roberta", CamembertModel, CamembertConfig(**CAMEMBERT), 110_621_952, id="CamemBERT"
        ),
        pytest.param(
            "roberta", XLMRobertaModel, XLMRobertaConfig(**XLM_R), 278_043_648, id="XLM-R"
        ),
        pytest.param(
            "distilbert", DistilBertModel, DistilBertConfig(), 66_362_880, id="DistilBERT"
        ),
        pytest.param("electra", ElectraModel, ElectraConfig(), 13_483_008, id="ELECTRA-small"),
        pytest.param(
            "electra", ElectraModel, ElectraConfig(**ELECTRA_BASE), 108_891_648, id="ELECTRA-base"
        ),
        pytest.param(
            "roberta", RobertaForMaskedLM, RobertaConfig(**ROBERTA), None, id="RoBERTa with head"
        ),
        pytest.param(
            "roberta",
            CamembertForMaskedLM,
            CamembertConfig(**CAMEMBERT, tie_word_embeddings=False),
            None,
            id="CamemBERT with a head of its own",
        ),
        pytest.param(
            "distilbert",
            DistilBertForMaskedLM,
            DistilBertConfig(),
            66_985_530,
            id="DistilBERT with head",
        ),
        pytest.param(
            "electra", ElectraForMaskedLM, ElectraConfig(), None, id="ELECTRA-small with head"
        ),
        pytest.param("gpt2", GPT2LMHeadModel, GPT2Config(), 124_439_808, id="GPT-2"),
        pytest.param("llama", LlamaForCausalLM, LlamaConfig(**SMOL), 134_515_008, id="SmolLM-135M"),
        pytest.param(
            "modernbert", ModernBertForMaskedLM, ModernBertConfig(), None, id="ModernBERT-base"
        ),
    ],
)
def test_the_formulas_give_the_published_count(
    family: str, kind: Any, config: Any, published: int | None
) -> None:
    with torch.device("meta"):
        theirs = kind(config)
    theirs.tie_weights()
    expected = sum(parameter.numel() for parameter in theirs.parameters())
    assert published in (expected, None)

    chosen = Family.registry[family]
    values = Config(config.to_dict(), "config.json")
    spec = ModelSpec.model_validate({**chosen.model(values), "family": family})
    vocab = chosen.vocab(values)
    layout = chosen.layout(spec, values)
    shapes = {name: tuple(tensor.shape) for name, tensor in theirs.state_dict().items()}
    plan = plan_tensors(layout, chosen.prefix, spec, vocab, shapes, "test")
    own = empty_model(spec, vocab, plan.heads)
    counted = sum(parameter.numel() for parameter in own.parameters())
    assert count_parameters(spec, vocab, plan.heads.values()) == counted
    pooler = [head for kind, head in plan.heads.items() if kind == "pooled"]
    folded = sum(layout.folded.values())
    assert plan.published(shapes) == count_parameters(spec, vocab, pooler) + folded
    # A head of its own has two biases in transformers, of which one is used.
    second = vocab if family == "roberta" and plan.heads and not spec.tied else 0
    assert counted + sum(layout.folded.values()) + second == expected
