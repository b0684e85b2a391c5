"""Hybrid: some rows left to right, the others masked, through one set of weights.

The outcome generates like a causal model and reads both ways like a masked one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from greffe.config.recipe import HeadSpec, Hybrid
from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.model.model import Model
from greffe.objectives.causal import CausalObjective
from greffe.objectives.masked import MaskedObjective
from greffe.objectives.objective import LanguageObjective, RowBatch


class HybridObjective(LanguageObjective):
    """Which rows are causal follows from their running number, so the share is exact over time."""

    def __init__(self, spec: Hybrid, tokenizer: Tokenizer, tied: bool) -> None:
        super().__init__(tokenizer, tied)
        self.share = spec.causal_share
        self.causal = CausalObjective(tokenizer, tied)
        self.masked = MaskedObjective(spec, tokenizer, tied)

    @property
    def weights(self) -> Mapping[str, float]:
        return {"next_token": self.share, "masked_token": 1.0 - self.share}

    def heads(self) -> dict[str, HeadSpec]:
        return {**self.causal.heads(), **self.masked.heads()}

    def prepare(self, rows: RowBatch) -> Batch:
        is_causal = np.floor((rows.numbers + 1) * self.share) > np.floor(rows.numbers * self.share)
        parts = {}
        if is_causal.any():
            parts["causal"] = self.causal.prepare(_choose(rows, is_causal))
        if not is_causal.all():
            parts["masked"] = self.masked.prepare(_choose(rows, ~is_causal))
        return Batch(
            ids=torch.from_numpy(rows.packed.ids),
            counts={name: n for part in parts.values() for name, n in part.counts.items()},
            tokens=sum(part.tokens for part in parts.values()),
            target_bytes={
                name: n for part in parts.values() for name, n in part.target_bytes.items()
            },
            parts=parts,
        )

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        sums: dict[str, Tensor] = {}
        if "causal" in batch.parts:
            sums |= self.causal.loss(model, batch.parts["causal"])
        if "masked" in batch.parts:
            sums |= self.masked.loss(model, batch.parts["masked"])
        return sums


def _choose(rows: RowBatch, which: npt.NDArray[np.bool_]) -> RowBatch:
    packed = PackedRows(
        **{item.name: getattr(rows.packed, item.name)[which] for item in fields(PackedRows)}
    )
    streams = [stream for stream, chosen in zip(rows.streams, which, strict=True) if chosen]
    return RowBatch(packed=packed, numbers=rows.numbers[which], streams=streams)
