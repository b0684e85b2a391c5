"""Document: predict hidden tokens, and the words of a document's other half from this one's mean.

The documents of a row are cut in two. Neither half sees the other, so that the mean of its hidden
states has to say what the document is about, and how it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from greffe.config.bounds import Weight
from greffe.config.components import Direction, HeadSpec
from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.model.heads.document_words_head import DocumentWordsHead
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.model import Model
from greffe.objectives.masking import Masker, MaskingSpec
from greffe.objectives.objective import (
    LanguageObjective,
    LanguageSpec,
    RowBatch,
    read,
    vocabulary_term,
)

Ids = npt.NDArray[np.int64]
SHORTEST = 8
"""Tokens of a document that is cut: halves of fewer say nothing."""


class Document(MaskingSpec, LanguageSpec):
    """Predict hidden tokens, and the words of a document's other half."""

    directions: ClassVar[tuple[Direction, ...]] = ("bidirectional",)
    kind: Literal["document"] = "document"
    weight: Weight = 1.0
    """Weight of the loss of the other half's words relative to the masked-token loss."""

    @property
    def predicted_fraction(self) -> float:
        return self.ratio

    def heads(self, *, tied: bool) -> dict[str, HeadSpec]:
        return {
            "masked_token": MaskedTokenHead(tied=tied),
            "document_words": DocumentWordsHead(tied=tied),
        }

    def build(self, tokenizer: Tokenizer, *, tied: bool) -> DocumentObjective:
        return DocumentObjective(self, tokenizer, tied=tied)


class DocumentObjective(LanguageObjective):
    """Halves are documents of their own in attention; positions go on from one to the other."""

    def __init__(self, spec: Document, tokenizer: Tokenizer, *, tied: bool) -> None:
        super().__init__(spec, tokenizer, tied=tied)
        self.weight = spec.weight
        self.masker = Masker(spec, tokenizer)
        self.is_special = np.isin(np.arange(tokenizer.size), tokenizer.specials)

    @property
    def weights(self) -> Mapping[str, float]:
        return {"masked_token": 1.0, "document_words": self.weight}

    def prepare(self, rows: RowBatch) -> Batch:
        packed = rows.packed
        halves, words, word_halves = self._cut(packed, rows.streams)
        ids, indices, targets = self.masker.hide_rows(packed.ids, rows.streams)
        is_padded = bool((packed.lengths < packed.ids.shape[1]).any())
        return Batch(
            ids=torch.from_numpy(ids),
            counts={"masked_token": len(targets), "document_words": len(words)},
            lengths=torch.from_numpy(packed.lengths) if is_padded else None,
            documents=torch.from_numpy(halves),
            positions=torch.from_numpy(packed.positions),
            targets=torch.from_numpy(targets),
            indices=torch.from_numpy(indices),
            words=torch.from_numpy(words),
            word_documents=torch.from_numpy(word_halves),
            document_tokens=torch.from_numpy(np.bincount(halves.reshape(-1))),
            tokens=int(packed.lengths.sum()),
            target_bytes={"masked_token": self.count_bytes(targets)},
        )

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        assert batch.documents is not None
        hidden = read(model, batch, causal=False)
        return {
            "masked_token": vocabulary_term(
                model, "masked_token", batch, causal=False, hidden=hidden
            ),
            "document_words": _words_term(model, batch, hidden),
        }

    def _cut(
        self, packed: PackedRows, streams: Sequence[np.random.Generator]
    ) -> tuple[Ids, Ids, Ids]:
        """Cut the documents of all rows in two, at a random place in their middle half.

        Return the number of each token's half in the batch [B, T], and which words [W] each half is
        to predict [W]: those of the other half, each once. Short documents stay whole.
        """
        halves = np.empty_like(packed.ids)
        found: list[tuple[int, Ids]] = []
        count = 0
        for ids, documents, length, row, random in zip(
            packed.ids, packed.documents, packed.lengths, halves, streams, strict=True
        ):
            starts = np.flatnonzero(np.diff(documents[:length], prepend=-1))
            for start, stop in pairwise([*starts, length]):
                row[start:stop] = count
                size = stop - start
                if size >= SHORTEST:
                    cut = start + int(random.integers(size // 4, 3 * size // 4 + 1))
                    found += [(count, self._words(ids[cut:stop]))]
                    count += 1
                    row[cut:stop] = count
                    found += [(count, self._words(ids[start:cut]))]
                count += 1
            row[length:] = count  # padding is one more
            count += 1
        none = np.empty(0, np.int64)
        words = [none, *(words for _, words in found)]
        numbers = [none, *(np.full(len(words), half) for half, words in found)]
        return halves, np.concatenate(words), np.concatenate(numbers)

    def _words(self, ids: Ids) -> Ids:
        words: Ids = np.unique(ids[~self.is_special[ids]])
        return words


def _words_term(model: Model, batch: Batch, hidden: Tensor) -> Tensor:
    """Return the summed cross-entropy of the words of the other halves.

    A half has many words and one row of logits: they are few enough to be held.
    """
    assert batch.documents is not None and batch.document_tokens is not None
    assert batch.words is not None and batch.word_documents is not None
    sizes = batch.document_tokens  # [halves]
    flat = batch.documents.flatten()
    sums = hidden.new_zeros((len(sizes), hidden.shape[-1]), dtype=torch.float32)
    sums = sums.index_add(0, flat, hidden.flatten(0, 1).float())
    head = model.vocabulary_head("document_words")
    weight, bias = head.decoder(model.base.embedding.weight)
    features = head.features(sums / sizes.clamp(min=1)[:, None])
    logits = features.float() @ weight.t() + bias  # [halves, vocab]
    # The cross-entropy of each word [W].
    totals = logits.logsumexp(dim=1)[batch.word_documents]
    return (totals - logits[batch.word_documents, batch.words]).sum()
