"""BERT, and what has its shape: MiniLM, e5, bge, gte."""

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
from greffe.interop.huggingface.family import (
    Family,
    ForeignHead,
    Layout,
    SpecialIds,
    linear,
)
from greffe.model.heads.pooled_head import PooledHead


class Bert(Family):
    """Post-norm encoder with learned positions and a norm after the embedding."""

    name: ClassVar[str] = "bert"
    model_types: ClassVar[tuple[str, ...]] = ("bert",)
    objective: ClassVar[Literal["masked", "causal"]] = "masked"
    prefix: ClassVar[str] = "bert."
    classes: ClassVar[Mapping[str, str]] = {"": "BertModel", "masked_token": "BertForMaskedLM"}

    def model(self, config: Config) -> dict[str, Any]:
        fields = encoder_fields(config)
        return {**fields, "head_activation": fields["activation"]}

    def choices(self, model: ModelSpec, special: SpecialIds) -> dict[str, Any]:
        return encoder_values(model)

    def layout(self, model: ModelSpec, config: Config) -> Layout:
        head = "cls.predictions"
        transform = f"{head}.transform"
        return Layout(
            base=encoder_base(model, config, "bert."),
            heads={
                "masked_token": masked_head(
                    model,
                    transform=f"{transform}.dense",
                    norm=f"{transform}.LayerNorm",
                    decoder=f"{head}.decoder",
                    bias=f"{head}.bias",
                ),
                "pooled": ForeignHead(PooledHead(), linear("transform", "bert.pooler.dense")),
            },
            ignored=("bert.embeddings.position_ids", "cls.seq_relationship.*", *TASK_HEADS),
            folded=folded_parameters(model, config),
        )
