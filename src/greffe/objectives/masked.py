"""Masked: hide some tokens and predict them from both sides. BERT's way past left-to-right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from greffe.config.recipe import HeadSpec, MaskedTokenHead, MaskingSpec
from greffe.data.batches import Batch
from greffe.data.tokenizer import Tokenizer
from greffe.model.model import Model
from greffe.objectives.objective import LanguageObjective, RowBatch, layout, vocabulary_term

Ids = npt.NDArray[np.int64]


class Masker:
    """Chooses and hides tokens of one row; the number chosen is exact, never a matter of luck."""

    def __init__(self, spec: MaskingSpec, tokenizer: Tokenizer) -> None:
        self.spec = spec
        self.tokenizer = tokenizer
        self.specials = np.array(tokenizer.specials)
        self.replacements = np.setdiff1d(np.arange(tokenizer.size), self.specials)

    def hide(self, ids: Ids, random: np.random.Generator) -> tuple[Ids, Ids]:
        """A copy of the row with some tokens hidden, and their places in ascending order.

        Of n ordinary tokens round(ratio·n), and at least one, are chosen. The shares of <mask>,
        random and kept tokens are met by systematic sampling: no row strays by more than one.
        """
        ordinary = np.flatnonzero(~np.isin(ids, self.specials))
        if len(ordinary) == 0:
            return ids, ordinary
        wanted = max(1, round(self.spec.ratio * len(ordinary)))
        if self.spec.whole_word:
            chosen = self._whole_words(ids, ordinary, wanted, random)
        else:
            chosen = random.permutation(ordinary)[:wanted]
        shares = (np.arange(len(chosen)) + random.random()) / len(chosen)
        to_mask = chosen[shares < self.spec.mask]
        to_replace = chosen[
            (shares >= self.spec.mask) & (shares < self.spec.mask + self.spec.random)
        ]
        hidden = ids.copy()
        hidden[to_mask] = self.tokenizer.mask
        hidden[to_replace] = random.choice(self.replacements, size=len(to_replace))
        return hidden, np.sort(chosen)

    def _whole_words(
        self, ids: Ids, ordinary: Ids, wanted: int, random: np.random.Generator
    ) -> Ids:
        """All pieces of randomly drawn words, as many words as fit, at least one; shuffled."""
        is_start = self.tokenizer.starts_word[ids]
        words = np.cumsum(is_start)[ordinary]
        names, sizes = np.unique(words, return_counts=True)
        order = random.permutation(len(names))
        fitting = max(1, int(np.searchsorted(np.cumsum(sizes[order]), wanted, side="right")))
        return random.permutation(ordinary[np.isin(words, names[order[:fitting]])])


class MaskedObjective(LanguageObjective):
    """Hidden tokens from both sides; only they go through the vocabulary head."""

    def __init__(self, spec: MaskingSpec, tokenizer: Tokenizer, tied: bool) -> None:
        super().__init__(tokenizer, tied)
        self.masker = Masker(spec, tokenizer)

    @property
    def weights(self) -> Mapping[str, float]:
        return {"masked_token": 1.0}

    def heads(self) -> dict[str, HeadSpec]:
        return {"masked_token": MaskedTokenHead(tied=self.tied)}

    def prepare(self, rows: RowBatch) -> Batch:
        packed = rows.packed
        ids, places, targets = hide_rows(self.masker, packed.ids, rows.streams)
        return Batch(
            ids=torch.from_numpy(ids),
            counts={"masked_token": len(targets)},
            targets=torch.from_numpy(targets),
            indices=torch.from_numpy(places),
            tokens=int(packed.lengths.sum()),
            target_bytes={"masked_token": self.count_bytes(targets)},
            **layout(packed),
        )

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        return {"masked_token": vocabulary_term(model, "masked_token", batch, causal=False)}


def hide_rows(
    masker: Masker, ids: Ids, streams: Sequence[np.random.Generator]
) -> tuple[Ids, Ids, Ids]:
    """Rows [B, T] with tokens hidden, flat places [N] and what stood there [N]."""
    hidden = np.empty_like(ids)
    places: list[Ids] = []
    for number, (row, random) in enumerate(zip(ids, streams, strict=True)):
        hidden[number], chosen = masker.hide(row, random)
        places.append(chosen + number * ids.shape[1])
    flat = np.concatenate(places)
    return hidden, flat, ids.reshape(-1)[flat]
