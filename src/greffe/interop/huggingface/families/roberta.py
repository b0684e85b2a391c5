"""RoBERTa, CamemBERT, XLM-R: BERT whose positions are counted from the number after padding's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.encoder import (
    POSITIONS,
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


class Roberta(Family):
    """The encoder of BERT; the first rows of its table of positions are not used."""

    name: ClassVar[str] = "roberta"
    model_types: ClassVar[tuple[str, ...]] = ("roberta", "camembert", "xlm-roberta")
    objective: ClassVar[Literal["masked", "causal"]] = "masked"
    prefix: ClassVar[str] = "roberta."
    classes: ClassVar[Mapping[str, str]] = {
        "": "RobertaModel",
        "masked_token": "RobertaForMaskedLM",
    }

    def model(self, config: Config) -> dict[str, Any]:
        fields = encoder_fields(config)
        unused = _unused_positions(config)
        if fields["context"] <= unused:
            raise config.unsupported(POSITIONS, f"more than pad_token_id + 1, which is {unused}")
        return {**fields, "context": fields["context"] - unused}

    def choices(self, model: ModelSpec, special: SpecialIds) -> dict[str, Any]:
        return encoder_values(model, unused=special.pad + 1, types=1)

    def suits(self, special: SpecialIds) -> bool:
        # Positions are counted over what is not padding, by its id.
        return special.pad not in (special.first, special.last)

    def layout(self, model: ModelSpec, config: Config) -> Layout:
        return Layout(
            base=encoder_base(model, config, "roberta.", _unused_positions(config)),
            heads={
                "masked_token": masked_head(
                    model,
                    transform="lm_head.dense",
                    norm="lm_head.layer_norm",
                    decoder="lm_head.decoder",
                    bias="lm_head.bias",
                ),
                "pooled": ForeignHead(PooledHead(), linear("transform", "roberta.pooler.dense")),
            },
            ignored=("roberta.embeddings.position_ids", *TASK_HEADS),
            folded=folded_parameters(model, config),
        )


def _unused_positions(config: Config) -> int:
    """Return how many rows of the positions belong to padding and to the numbers before it."""
    return config.integer("pad_token_id", 1) + 1
