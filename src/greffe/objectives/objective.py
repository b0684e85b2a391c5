"""What every objective offers, and what pretraining objectives share. Knows no files, no loop.

Adding one: a spec in config.py, and a class in a file here with `directions`, `weights`, `heads()`,
`prepare()` and `loss()`. A loss is a dict of sums; the batch carries the counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypedDict

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from greffe.config.recipe import HeadSpec
from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.kernels.vocabulary_loss import vocabulary_loss
from greffe.model.model import Model


@dataclass(frozen=True)
class RowBatch:
    """Rows of a packed corpus on their way to an objective, each with its own random stream."""

    packed: PackedRows
    numbers: npt.NDArray[np.int64]
    """[B] running number of each row over the whole training, the same at any number of ranks."""
    streams: Sequence[np.random.Generator]
    partners: PackedRows | None = None
    """Another row for each, for objectives that compare two texts."""


class Objective(ABC):
    """What the training loop needs: losses as sums, one a term."""

    @property
    @abstractmethod
    def weights(self) -> Mapping[str, float]:
        """Weight of each term's mean in the total."""

    @abstractmethod
    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        """Sum of losses a term; divided by the batch's counts they are means."""


class LanguageObjective(Objective):
    """An objective that learns from unlabelled rows."""

    needs_partners: ClassVar[bool] = False

    def __init__(self, tokenizer: Tokenizer, tied: bool) -> None:
        self.tokenizer = tokenizer
        self.tied = tied

    @abstractmethod
    def heads(self) -> dict[str, HeadSpec]:
        """The heads it trains."""

    @abstractmethod
    def prepare(self, rows: RowBatch) -> Batch:
        """Shift, mask or pair; a pure function of the rows and their streams."""

    def count_bytes(self, targets: npt.NDArray[np.int64]) -> int:
        """UTF-8 bytes that the targets stand for."""
        return int(self.tokenizer.token_bytes[targets].sum())


def vocabulary_term(
    model: Model, head_name: str, batch: Batch, *, causal: bool, hidden: Tensor | None = None
) -> Tensor:
    """Summed cross-entropy at the batch's places only: nothing else goes through the head."""
    assert batch.indices is not None and batch.targets is not None
    if hidden is None:
        hidden = read(model, batch, causal=causal)
    head = model.vocabulary_head(head_name)
    chosen = hidden.reshape(-1, hidden.shape[-1]).index_select(0, batch.indices)
    weight, bias = head.decoder(model.base.embedding.weight)
    return vocabulary_loss(head.features(chosen), weight, bias, batch.targets)


def read(model: Model, batch: Batch, *, causal: bool) -> Tensor:
    """Hidden states [B, T, width] of a batch."""
    hidden: Tensor = model.base(
        batch.ids,
        causal=causal,
        lengths=batch.lengths,
        documents=batch.documents,
        positions=batch.positions,
    )
    return hidden


class Layout(TypedDict):
    """The fields of a batch that say what attention may see."""

    lengths: Tensor | None
    documents: Tensor | None
    positions: Tensor | None


def layout(packed: PackedRows) -> Layout:
    """What attention needs to know of packed rows, and no more: None keeps its fast paths."""
    is_real = np.arange(packed.ids.shape[1]) < packed.lengths[:, None]
    has_padding = not is_real.all()
    has_several = bool((packed.documents * is_real).any())
    return {
        "lengths": torch.from_numpy(packed.lengths) if has_padding else None,
        "documents": torch.from_numpy(packed.documents) if has_several else None,
        "positions": torch.from_numpy(packed.positions) if has_several else None,
    }
