"""Next sentence: predict masked tokens, and whether the second half of a row follows the first.

A row becomes `<sos> first <eos> second <eos>`. In half of the cases the second half is the true
continuation, in the others it comes from another document, cut in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from greffe.config.bounds import Weight
from greffe.config.components import Direction, HeadSpec
from greffe.data.batches import Batch, pad_rows
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.heads.next_sentence_head import NextSentenceHead
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
SENTENCE_ENDS = (".", "!", "?", "…", "。", "؟", "।")


class NextSentence(MaskingSpec, LanguageSpec):
    """Predict hidden tokens, and whether the second half of a row follows the first."""

    directions: ClassVar[tuple[Direction, ...]] = ("bidirectional",)
    fills_rows: ClassVar[bool] = False
    kind: Literal["next_sentence"] = "next_sentence"
    weight: Weight = 1.0
    """Weight of the next-sentence loss relative to the masked-token loss."""

    @property
    def predicted_fraction(self) -> float:
        return self.ratio

    def heads(self, *, tied: bool) -> dict[str, HeadSpec]:
        return {
            "masked_token": MaskedTokenHead(tied=tied),
            "next_sentence": NextSentenceHead(),
        }

    def build(self, tokenizer: Tokenizer, *, tied: bool) -> NextSentenceObjective:
        return NextSentenceObjective(self, tokenizer, tied=tied)


class NextSentenceObjective(LanguageObjective):
    """BERT's two tasks, on whole documents."""

    needs_partners = True

    def __init__(self, spec: NextSentence, tokenizer: Tokenizer, *, tied: bool) -> None:
        super().__init__(spec, tokenizer, tied=tied)
        self.weight = spec.weight
        self.masker = Masker(spec, tokenizer)
        self.ends_sentence = np.array(
            [(tokenizer.text_of(id) or "").endswith(SENTENCE_ENDS) for id in range(tokenizer.size)]
        )

    @property
    def weights(self) -> Mapping[str, float]:
        return {"masked_token": 1.0, "next_sentence": self.weight}

    def prepare(self, rows: RowBatch) -> Batch:
        assert rows.partners is not None
        pairs = [
            self._pair(rows.packed, rows.partners, number, random)
            for number, random in enumerate(rows.streams)
        ]
        padded, lengths = pad_rows([ids for ids, _ in pairs], self.tokenizer.pad)
        ids, indices, targets = self.masker.hide_rows(padded.numpy(), rows.streams)
        return Batch(
            ids=torch.from_numpy(ids),
            counts={"masked_token": len(targets), "next_sentence": len(pairs)},
            lengths=lengths,
            targets=torch.from_numpy(targets),
            indices=torch.from_numpy(indices),
            follows=torch.tensor([int(follows) for _, follows in pairs]),
            tokens=sum(len(ids) for ids, _ in pairs),
            target_bytes={"masked_token": self.count_bytes(targets)},
        )

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        assert batch.follows is not None
        hidden = read(model, batch, causal=False)
        scores = model.scores(hidden, "next_sentence")
        return {
            "masked_token": vocabulary_term(
                model, "masked_token", batch, causal=False, hidden=hidden
            ),
            "next_sentence": F.cross_entropy(scores, batch.follows, reduction="sum"),
        }

    def _pair(
        self, packed: PackedRows, partners: PackedRows, number: int, random: np.random.Generator
    ) -> tuple[Ids, bool]:
        """Return a row's two halves joined, and whether the second follows the first."""
        text, document = self._longest_text(packed, number, other_than=None)
        cut = self._cut(text, random)
        first, second = text[:cut], text[cut:]
        partner, _ = self._longest_text(partners, number, other_than=document)
        other = partner[self._cut(partner, random) :]
        follows = len(other) == 0 or bool(random.random() < 0.5)
        # Equally long whether it follows or not: the length must not give the answer away.
        size = min(len(second), len(other)) or len(second)
        second = (second if follows else other)[:size]
        sos, eos = self.tokenizer.sos, self.tokenizer.eos
        return np.concatenate([[sos], first, [eos], second, [eos]]).astype(np.int64), follows

    def _longest_text(
        self, packed: PackedRows, number: int, *, other_than: int | None
    ) -> tuple[Ids, int]:
        """Return the ordinary tokens of the row's longest document, and its number in the part."""
        real = slice(0, int(packed.lengths[number]))
        ids, documents = packed.ids[number, real], packed.documents[number, real]
        ordinary = (ids != self.tokenizer.sos) & (ids != self.tokenizer.eos)
        names = packed.first_document[number] + documents
        if other_than is not None:
            ordinary &= names != other_than
        if not ordinary.any():
            return ids[:0], -1
        found, sizes = np.unique(names[ordinary], return_counts=True)
        longest = int(found[np.argmax(sizes)])
        # The wrapped pair is three tokens longer than its text and must fit the row.
        return ids[ordinary & (names == longest)][: packed.ids.shape[1] - 3], longest

    def _cut(self, text: Ids, random: np.random.Generator) -> int:
        """Return where to cut: in the middle half, after a sentence end if there is one."""
        low = max(1, len(text) // 4)
        high = max(low + 1, 3 * len(text) // 4)
        ends = np.flatnonzero(self.ends_sentence[text[low:high]]) + low + 1
        ends = ends[ends < len(text)]
        return int(random.choice(ends)) if len(ends) else int(random.integers(low, high))
