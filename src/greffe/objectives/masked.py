"""Masked: hide some tokens and predict them from both sides, as in BERT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from torch import Tensor

from greffe.config.components import Direction, HeadSpec
from greffe.data.batches import Batch
from greffe.data.tokenizer import Tokenizer
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.model import Model
from greffe.objectives.masking import Masker, MaskingSpec
from greffe.objectives.objective import (
    LanguageObjective,
    LanguageSpec,
    RowBatch,
    layout,
    vocabulary_term,
)


class Masked(MaskingSpec, LanguageSpec):
    """Predict hidden tokens from both sides."""

    directions: ClassVar[tuple[Direction, ...]] = ("bidirectional",)
    kind: Literal["masked"] = "masked"

    @property
    def predicted_fraction(self) -> float:
        return self.ratio

    def heads(self, *, tied: bool) -> dict[str, HeadSpec]:
        return {"masked_token": MaskedTokenHead(tied=tied)}

    def build(self, tokenizer: Tokenizer, *, tied: bool) -> MaskedObjective:
        return MaskedObjective(self, tokenizer, tied=tied)


class MaskedObjective(LanguageObjective):
    """Hidden tokens from both sides; only they go through the vocabulary head."""

    def __init__(self, spec: Masked, tokenizer: Tokenizer, *, tied: bool) -> None:
        super().__init__(spec, tokenizer, tied=tied)
        self.masker = Masker(spec, tokenizer)

    @property
    def weights(self) -> Mapping[str, float]:
        return {"masked_token": 1.0}

    def prepare(self, rows: RowBatch) -> Batch:
        packed = rows.packed
        ids, indices, targets = self.masker.hide_rows(packed.ids, rows.streams)
        return Batch(
            ids=torch.from_numpy(ids),
            counts={"masked_token": len(targets)},
            targets=torch.from_numpy(targets),
            indices=torch.from_numpy(indices),
            tokens=int(packed.lengths.sum()),
            target_bytes={"masked_token": self.count_bytes(targets)},
            **layout(packed),
        )

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        return {"masked_token": vocabulary_term(model, "masked_token", batch, causal=False)}
