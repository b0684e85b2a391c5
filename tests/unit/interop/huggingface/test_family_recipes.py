"""Every family has a recipe that trains it from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers import (
    BertConfig,
    DistilBertConfig,
    ElectraConfig,
    GPT2Config,
    LlamaConfig,
    ModernBertConfig,
    RobertaConfig,
)

import greffe
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import ModelSpec
from greffe.interop.huggingface import families
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import Family
from greffe.progress import quiet
from greffe.samples.toy import toy_documents, toy_reviews

assert families
SMALLER = [
    *("model.width=32", "model.feed_forward=48", "model.layers=2", "model.context=32"),
    *("train.batch=4", "train.threads=1"),
]
SIZES = {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}
CONFIGS: dict[str, Any] = {
    "bert": BertConfig(**SIZES, num_hidden_layers=4, max_position_embeddings=256),
    "roberta": RobertaConfig(
        **SIZES, num_hidden_layers=4, max_position_embeddings=258, layer_norm_eps=1e-5
    ),
    "distilbert": DistilBertConfig(
        dim=256, n_heads=4, hidden_dim=1024, n_layers=2, max_position_embeddings=256
    ),
    "electra": ElectraConfig(**SIZES, num_hidden_layers=4, max_position_embeddings=256),
    "gpt2": GPT2Config(n_embd=256, n_layer=4, n_head=4, n_positions=256),
    "llama": LlamaConfig(
        **{**SIZES, "intermediate_size": 704},
        num_hidden_layers=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
    ),
    "modernbert": ModernBertConfig(
        **{**SIZES, "intermediate_size": 384}, num_hidden_layers=4, max_position_embeddings=256
    ),
}


@pytest.mark.parametrize("name", sorted(Family.registry))
def test_every_family_has_a_recipe_of_its_name(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.model.family == name
    assert recipe.objective.kind == Family.registry[name].objective


@pytest.mark.parametrize("name", sorted(Family.registry))
def test_the_recipe_has_the_architecture_of_its_family(name: str) -> None:
    config = Config(CONFIGS[name].to_dict(), "config.json")
    spec = ModelSpec.model_validate({**Family.registry[name].model(config), "family": name})
    # Dropout is a choice of the training: the recipes have none, as `small`.
    assert spec.model_copy(update={"dropout": 0.0}) == load_recipe(name).model


@pytest.mark.parametrize("name", sorted(Family.registry))
def test_a_smaller_model_of_the_recipe_is_pretrained_and_fine_tuned(
    name: str, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(toy_documents(120, seed=0)), "utf-8")
    table = tmp_path / "labelled.tsv"
    reviews = toy_reviews(24, seed=1)
    table.write_text("".join(f"{label}\t{review}\n" for label, review in reviews), "utf-8")
    short = {"budget": "3steps", "precision": "fp32"}
    with quiet():
        base = greffe.pretrain(
            text, tmp_path / "base", recipe=name, vocab=400, changes=SMALLER, **short
        )
        tuned = greffe.finetune(
            base.path, data=table, out=tmp_path / "tuned", changes=["train.soup=1"], **short
        )
    assert base.recipe().model.family == tuned.recipe().model.family == name
    assert len(tuned.predict(["un bon livre", "un mauvais livre"])) == 2
