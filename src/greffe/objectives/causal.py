"""Causal: predict each token from those before it in its document. The lab's objective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from greffe.config.components import Direction, HeadSpec
from greffe.data.batches import Batch
from greffe.data.tokenizer import Tokenizer
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model
from greffe.objectives.objective import (
    LanguageObjective,
    LanguageSpec,
    RowBatch,
    layout,
    vocabulary_term,
)


class Causal(LanguageSpec):
    """Predict each token from those before it."""

    directions: ClassVar[tuple[Direction, ...]] = ("causal",)
    kind: Literal["causal"] = "causal"

    @property
    def predicted_fraction(self) -> float:
        return 1.0

    def heads(self, *, tied: bool) -> dict[str, HeadSpec]:
        return {"next_token": NextTokenHead(tied=tied)}

    def build(self, tokenizer: Tokenizer, *, tied: bool) -> CausalObjective:
        return CausalObjective(self, tokenizer, tied=tied)


class CausalObjective(LanguageObjective):
    """Next token; a document's last token never predicts the next document's first."""

    @property
    def weights(self) -> Mapping[str, float]:
        return {"next_token": 1.0}

    def prepare(self, rows: RowBatch) -> Batch:
        packed = rows.packed
        width = packed.ids.shape[1]
        inside = np.arange(1, width) < packed.lengths[:, None]
        same_document = packed.documents[:, 1:] == packed.documents[:, :-1]
        row, column = np.nonzero(inside & same_document)
        targets = packed.ids[row, column + 1]
        return Batch(
            ids=torch.from_numpy(packed.ids),
            counts={"next_token": len(targets)},
            targets=torch.from_numpy(targets),
            indices=torch.from_numpy(row * width + column),
            tokens=int(packed.lengths.sum()),
            target_bytes={"next_token": self.count_bytes(targets)},
            **layout(packed),
        )

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        return {"next_token": vocabulary_term(model, "next_token", batch, causal=True)}
