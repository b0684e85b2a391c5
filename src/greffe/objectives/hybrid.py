"""Hybrid: some rows are read left to right, the others are masked, through one set of weights.

The result generates like a causal model and reads in both directions like a masked one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from greffe.config.bounds import ProperFraction
from greffe.config.components import Direction, HeadSpec
from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.model.model import Model
from greffe.objectives.causal import Causal
from greffe.objectives.masked import Masked
from greffe.objectives.masking import MaskingSpec
from greffe.objectives.objective import LanguageObjective, LanguageSpec, RowBatch


class Hybrid(MaskingSpec, LanguageSpec):
    """Predict next tokens in some rows, hidden tokens in the others."""

    directions: ClassVar[tuple[Direction, ...]] = ("causal", "bidirectional")
    kind: Literal["hybrid"] = "hybrid"
    causal_fraction: ProperFraction = 0.5
    """Fraction of a batch's rows that are read left to right; the others are masked."""

    @property
    def causal(self) -> Causal:
        """The objective of the rows read left to right."""
        return Causal()

    @property
    def masked(self) -> Masked:
        """The objective of the other rows."""
        return Masked(**{name: getattr(self, name) for name in MaskingSpec.model_fields})

    @property
    def predicted_fraction(self) -> float:
        return self.causal_fraction + (1 - self.causal_fraction) * self.ratio

    def heads(self, *, tied: bool) -> dict[str, HeadSpec]:
        return {**self.causal.heads(tied=tied), **self.masked.heads(tied=tied)}

    def build(self, tokenizer: Tokenizer, *, tied: bool) -> HybridObjective:
        return HybridObjective(self, tokenizer, tied=tied)


class HybridObjective(LanguageObjective):
    """Whether a row is causal follows from its number, so the fraction is exact over time."""

    def __init__(self, spec: Hybrid, tokenizer: Tokenizer, *, tied: bool) -> None:
        super().__init__(spec, tokenizer, tied=tied)
        self.fraction = spec.causal_fraction
        self.causal = spec.causal.build(tokenizer, tied=tied)
        self.masked = spec.masked.build(tokenizer, tied=tied)

    @property
    def weights(self) -> Mapping[str, float]:
        return {"next_token": self.fraction, "masked_token": 1.0 - self.fraction}

    def prepare(self, rows: RowBatch) -> Batch:
        before = np.floor(rows.numbers * self.fraction)
        is_causal = np.floor((rows.numbers + 1) * self.fraction) > before
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
