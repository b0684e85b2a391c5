"""ELECTRA: BERT whose embedding may be narrower than its blocks.

A generator has a masked-token head. A discriminator has one that tells replaced tokens from
others; it is not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.encoder import (
    TASK_HEADS,
    encoder_base,
    encoder_fields,
    encoder_values,
    folded_parameters,
    masked_head,
)
from greffe.interop.huggingface.family import Family, Layout, SpecialIds, linear


class Electra(Family):
    """The encoder of BERT; a linear layer follows an embedding of another width."""

    name: ClassVar[str] = "electra"
    model_types: ClassVar[tuple[str, ...]] = ("electra",)
    objective: ClassVar[Literal["masked", "causal"]] = "masked"
    prefix: ClassVar[str] = "electra."
    classes: ClassVar[Mapping[str, str]] = {
        "": "ElectraModel",
        "masked_token": "ElectraForMaskedLM",
    }

    def model(self, config: Config) -> dict[str, Any]:
        fields = encoder_fields(config)
        width = config.integer("embedding_size", 128)
        return {**fields, "embedding_width": 0 if width == fields["width"] else width}

    def choices(self, model: ModelSpec, special: SpecialIds) -> dict[str, Any]:
        return {**encoder_values(model), "embedding_size": model.token_width}

    def layout(self, model: ModelSpec, config: Config) -> Layout:
        base = encoder_base(model, config, "electra.")
        if model.embedding_width:
            base |= linear("embedding_projection", "electra.embeddings_project")
        return Layout(
            base=base,
            heads={
                "masked_token": masked_head(
                    model,
                    transform="generator_predictions.dense",
                    norm="generator_predictions.LayerNorm",
                    decoder="generator_lm_head",
                ),
            },
            ignored=(
                "electra.embeddings.position_ids",
                "discriminator_predictions.*",
                "sequence_summary.*",
                *TASK_HEADS,
            ),
            folded=folded_parameters(model, config),
        )
