"""DistilBERT: BERT without token types and pooler, with names of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface.config import ACTIVATION_NAMES, Config
from greffe.interop.huggingface.encoder import (
    POSITIONS,
    TASK_HEADS,
    encoder_choices,
    folded_parameters,
    masked_head,
    table_of_positions,
)
from greffe.interop.huggingface.family import (
    Family,
    Layout,
    Parts,
    SpecialIds,
    copied,
    linear,
    stacked_linear,
)


class DistilBert(Family):
    """The encoder of BERT. Sinusoidal positions, if it has them, are a table in the file too."""

    name: ClassVar[str] = "distilbert"
    model_types: ClassVar[tuple[str, ...]] = ("distilbert",)
    objective: ClassVar[Literal["masked", "causal"]] = "masked"
    prefix: ClassVar[str] = "distilbert."
    classes: ClassVar[Mapping[str, str]] = {
        "": "DistilBertModel",
        "masked_token": "DistilBertForMaskedLM",
    }

    def model(self, config: Config) -> dict[str, Any]:
        activation = config.activation("activation", "gelu")
        return {
            **encoder_choices(),
            "width": config.integer("dim"),
            "layers": config.integer("n_layers"),
            "heads": config.integer("n_heads"),
            "feed_forward": config.integer("hidden_dim"),
            "context": config.integer(POSITIONS),
            "norm_epsilon": 1e-12,
            "activation": activation,
            "head_activation": activation,
            "dropout": config.number("dropout", 0.1),
            "tied": config.flag("tie_word_embeddings", True),
        }

    def choices(self, model: ModelSpec, special: SpecialIds) -> dict[str, Any]:
        return {
            "dim": model.width,
            "n_layers": model.layers,
            "n_heads": model.heads,
            "hidden_dim": model.feed_forward,
            POSITIONS: model.context,
            "activation": ACTIVATION_NAMES[model.activation],
            "dropout": model.dropout,
            "attention_dropout": 0.0,
        }

    def layout(self, model: ModelSpec, config: Config) -> Layout:
        embeddings = "distilbert.embeddings"
        positions = f"{embeddings}.position_embeddings.weight"
        return Layout(
            base={
                "embedding.weight": copied(f"{embeddings}.word_embeddings.weight"),
                "position.weight": table_of_positions(model, config, positions),
                **linear("embedding_norm", f"{embeddings}.LayerNorm"),
                **_blocks(model),
            },
            heads={
                "masked_token": masked_head(
                    model,
                    transform="vocab_transform",
                    norm="vocab_layer_norm",
                    decoder="vocab_projector",
                ),
            },
            ignored=(f"{embeddings}.position_ids", "pre_classifier.*", *TASK_HEADS),
            folded=folded_parameters(model, config, types=False),
        )


def _blocks(model: ModelSpec) -> Parts:
    parts: Parts = {}
    for number in range(model.layers):
        block, layer = f"blocks.{number}", f"distilbert.transformer.layer.{number}"
        names = [f"{layer}.attention.{name}" for name in ("q_lin", "k_lin", "v_lin")]
        parts |= stacked_linear(f"{block}.attention.qkv", *names)
        parts |= linear(f"{block}.attention.out", f"{layer}.attention.out_lin")
        parts |= linear(f"{block}.attention_norm", f"{layer}.sa_layer_norm")
        parts |= linear(f"{block}.feed_forward.expand", f"{layer}.ffn.lin1")
        parts |= linear(f"{block}.feed_forward.contract", f"{layer}.ffn.lin2")
        parts |= linear(f"{block}.feed_forward_norm", f"{layer}.output_layer_norm")
    return parts
