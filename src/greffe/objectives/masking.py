"""Hiding tokens: shared by the objectives that predict hidden ones, and by token dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from greffe.config.bounds import Fraction, ProperFraction
from greffe.config.spec import Spec
from greffe.data.tokenizer import Tokenizer

Ids = npt.NDArray[np.int64]


class MaskingSpec(Spec):
    """How tokens are hidden."""

    ratio: ProperFraction = 0.15
    """Fraction of a row's tokens that are predicted."""
    mask: Fraction = 0.8
    """Fraction of the predicted tokens that are replaced by <mask>."""
    random: Fraction = 0.1
    """Fraction of the predicted tokens that are replaced by a random token; the rest is kept."""
    whole_word: bool = False
    """Hide all pieces of a word together."""

    @model_validator(mode="after")
    def _check_fractions(self) -> Self:
        if self.mask + self.random > 1:
            raise ValueError(f"mask {self.mask} + random {self.random} is more than 1")
        return self


class Masker:
    """Chooses and hides tokens of a row; the number of hidden tokens is exact, not random."""

    def __init__(self, spec: MaskingSpec, tokenizer: Tokenizer) -> None:
        self.spec = spec
        self.tokenizer = tokenizer
        self.specials = np.array(tokenizer.specials)
        self.replacements = np.setdiff1d(np.arange(tokenizer.size), self.specials)

    def hide(self, ids: Ids, random: np.random.Generator) -> tuple[Ids, Ids]:
        """Return a copy of the row with some tokens hidden, and their indices in ascending order.

        Of n ordinary tokens round(ratio·n), and at least one, are chosen. Systematic sampling
        assigns <mask>, random and kept tokens: each number is exact to within one per row.
        """
        ordinary = np.flatnonzero(~np.isin(ids, self.specials))
        if len(ordinary) == 0:
            return ids, ordinary
        count = max(1, round(self.spec.ratio * len(ordinary)))
        if self.spec.whole_word:
            chosen = self._whole_words(ids, ordinary, count, random)
        else:
            chosen = random.permutation(ordinary)[:count]
        quantiles = (np.arange(len(chosen)) + random.random()) / len(chosen)
        to_mask = chosen[quantiles < self.spec.mask]
        to_replace = chosen[
            (quantiles >= self.spec.mask) & (quantiles < self.spec.mask + self.spec.random)
        ]
        hidden = ids.copy()
        hidden[to_mask] = self.tokenizer.mask
        hidden[to_replace] = random.choice(self.replacements, size=len(to_replace))
        return hidden, np.sort(chosen)

    def hide_rows(self, ids: Ids, streams: Sequence[np.random.Generator]) -> tuple[Ids, Ids, Ids]:
        """Return rows [B, T] with tokens hidden, the flat indices [N] and the hidden ids [N]."""
        hidden = np.empty_like(ids)
        indices: list[Ids] = []
        for number, (row, random) in enumerate(zip(ids, streams, strict=True)):
            hidden[number], chosen = self.hide(row, random)
            indices.append(chosen + number * ids.shape[1])
        flat = np.concatenate(indices)
        return hidden, flat, ids.reshape(-1)[flat]

    def _whole_words(self, ids: Ids, ordinary: Ids, count: int, random: np.random.Generator) -> Ids:
        """Return all pieces of randomly drawn words, as many words as fit, at least one."""
        is_start = self.tokenizer.starts_word[ids]
        words = np.cumsum(is_start)[ordinary]
        names, sizes = np.unique(words, return_counts=True)
        order = random.permutation(len(names))
        fitting = max(1, int(np.searchsorted(np.cumsum(sizes[order]), count, side="right")))
        return random.permutation(ordinary[np.isin(words, names[order[:fitting]])])
