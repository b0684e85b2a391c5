"""What every objective offers, and what pretraining objectives share. Knows no files, no loop.

A loss is a dict of sums, one per term; the batch has the counts that turn them into means.
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

from greffe.config.components import HeadSpec, ObjectiveSpec
from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.errors import RecipeError
from greffe.kernels.vocabulary_loss import vocabulary_loss
from greffe.model.layers import select_tokens
from greffe.model.model import Model


@dataclass(frozen=True)
class RowBatch:
    """Rows of a packed corpus, each with its own random stream: what an objective prepares."""

    packed: PackedRows
    numbers: npt.NDArray[np.int64]
    """[B] index of each row over the whole training, the same at any number of ranks."""
    streams: Sequence[np.random.Generator]
    partners: PackedRows | None = None
    """Another row for each, for objectives that compare two texts."""


class Objective(ABC):
    """What the training loop needs: one sum of losses per term."""

    @property
    @abstractmethod
    def weights(self) -> Mapping[str, float]:
        """Weight of each term's mean in the total."""

    @abstractmethod
    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        """Return the sum of losses of each term; divided by the batch's counts they are means."""


class LanguageSpec(ObjectiveSpec):
    """An objective of pretraining: it learns from unlabelled text."""

    fills_rows: ClassVar[bool] = True
    """Whether its rows are as long as the context, not as a document."""

    @property
    @abstractmethod
    def predicted_fraction(self) -> float:
        """Fraction of the tokens that go through the vocabulary head."""

    @abstractmethod
    def heads(self, *, tied: bool) -> dict[str, HeadSpec]:
        """Return the heads that it trains, by kind."""

    @abstractmethod
    def build(self, tokenizer: Tokenizer, *, tied: bool) -> LanguageObjective:
        """Return the objective for this tokenizer."""


class LanguageObjective(Objective):
    """An objective that learns from unlabelled rows."""

    needs_partners: ClassVar[bool] = False

    def __init__(self, spec: LanguageSpec, tokenizer: Tokenizer, *, tied: bool) -> None:
        self.spec = spec
        self.tokenizer = tokenizer
        self.tied = tied

    def heads(self) -> dict[str, HeadSpec]:
        """Return the heads that it trains, by kind."""
        return self.spec.heads(tied=self.tied)

    @abstractmethod
    def prepare(self, rows: RowBatch) -> Batch:
        """Shift, mask or pair; a pure function of the rows and their streams."""

    def count_bytes(self, targets: npt.NDArray[np.int64]) -> int:
        """Return the number of UTF-8 bytes of the targets."""
        return int(self.tokenizer.token_bytes[targets].sum())


def language_spec(spec: ObjectiveSpec) -> LanguageSpec:
    """Return the spec if it can be pretrained; raise a RecipeError otherwise."""
    if isinstance(spec, LanguageSpec):
        return spec
    raise RecipeError(
        f"A recipe with the objective {spec.kind!r} cannot be pretrained.",
        expected=f"objective.kind = {', '.join(LanguageSpec.kinds())}",
        hint="use greffe finetune to train a classifier, or greffe pretrain --objective masked",
    )


def objectives_with(head: str) -> str:
    """Return the kinds of objectives that train this head, as `one, another or a third`."""
    kinds = [k for k in LanguageSpec.kinds() if head in LanguageSpec.of_kind(k).heads(tied=True)]
    return " or ".join(kinds).replace(" or ", ", ", len(kinds) - 2)


def vocabulary_term(
    model: Model, head_name: str, batch: Batch, *, causal: bool, hidden: Tensor | None = None
) -> Tensor:
    """Return the summed cross-entropy at the target positions: only they go through the head."""
    assert batch.indices is not None and batch.targets is not None
    if hidden is None:
        chosen = read(model, batch, causal=causal, chosen=batch.indices)
    else:
        chosen = select_tokens(hidden, batch.indices)
    head = model.vocabulary_head(head_name)
    weight, bias = head.decoder(model.base.embedding.weight)
    return vocabulary_loss(head.features(chosen), weight, bias, batch.targets)


def read(model: Model, batch: Batch, *, causal: bool, chosen: Tensor | None = None) -> Tensor:
    """Return hidden states [B, T, width] of a batch, or [N, width] of the chosen tokens [N]."""
    hidden: Tensor = model.base(
        batch.ids,
        causal=causal,
        lengths=batch.lengths,
        documents=batch.documents,
        positions=batch.positions,
        chosen=chosen,
    )
    return hidden


class Layout(TypedDict):
    """The fields of a batch from which attention masks are built."""

    lengths: Tensor | None
    documents: Tensor | None
    positions: Tensor | None


def layout(packed: PackedRows) -> Layout:
    """Return what attention needs of packed rows; None, where possible, keeps its fast paths."""
    is_real = np.arange(packed.ids.shape[1]) < packed.lengths[:, None]
    has_padding = not is_real.all()
    has_several = bool((packed.documents * is_real).any())
    return {
        "lengths": torch.from_numpy(packed.lengths) if has_padding else None,
        "documents": torch.from_numpy(packed.documents) if has_several else None,
        "positions": torch.from_numpy(packed.positions) if has_several else None,
    }
