"""An index of the word n-grams of some texts, to find them in blocks of other documents.

Words of the texts are numbered; any other word is 0 and ends every n-gram, so that the index does
not grow with the documents that are searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import numpy.typing as npt

from greffe.data.words import plain_words, split_folded
from greffe.seeding import rng

FEWEST_WORDS = 5  # shorter texts occur in any large corpus
# Between documents. Casefolded text has no capitals, so no document contains this word.
_BORDER = "DOCUMENT"
_BORDER_NUMBER = -1
_TABLE_BITS = 22
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits all over

_Int64s = npt.NDArray[np.int64]
_UInt64s = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Hits:
    """The n-grams found in a block of documents, each once."""

    ngrams: _Int64s
    """Numbers of the n-grams."""
    documents: _Int64s
    """Index of the first document of the block that contains each."""


class NgramIndex:
    """All n-grams of `size` words of some texts; a shorter text is one n-gram."""

    def __init__(self, texts: Sequence[str], size: int) -> None:
        split = [plain_words(text) for text in texts]
        words = dict.fromkeys(word for parts in split for word in parts)
        self._numbers = {_BORDER: _BORDER_NUMBER}
        self._numbers.update((word, number) for number, word in enumerate(words, start=1))
        self._words = ["", *words]
        self._codes = rng(0, "words").integers(0, 2**64, len(words) + 1, np.uint64)
        self.lengths = np.array([len(parts) for parts in split], np.int64)
        """Number of words per text."""
        self._flat = np.array([self._numbers[word] for parts in split for word in parts], np.int64)
        self._find_ngrams(size)

    def _find_ngrams(self, size: int) -> None:
        """Find where n-grams start, how long they are, and which of them are equal."""
        ends = np.cumsum(self.lengths)
        owners = np.repeat(np.arange(len(ends)), self.lengths)
        starts = np.arange(len(owners))
        sizes = np.minimum(self.lengths, size)[owners]
        is_ngram = (starts + sizes <= ends[owners]) & (sizes >= min(FEWEST_WORDS, size))
        self._starts, self._sizes = starts[is_ngram], sizes[is_ngram]
        self._indexed_sizes = sorted(set(self._sizes.tolist()))
        hashes = np.zeros(len(self._starts), np.uint64)
        for length, begins, rolled in self._rolled(self._flat, self._starts, self._sizes):
            chosen = self._sizes == length
            hashes[chosen] = rolled[np.searchsorted(begins, self._starts[chosen])]
        # Equal n-grams share one number; the first represents all.
        self._hashes, first, self._ngram_of = np.unique(
            hashes, return_index=True, return_inverse=True
        )
        self._ngram_starts, self._ngram_sizes = self._starts[first], self._sizes[first]
        self._table = np.zeros(1 << _TABLE_BITS, np.bool_)
        self._table[_slots(self._hashes)] = True

    @property
    def ngrams(self) -> int:
        """Number of different n-grams."""
        return len(self._hashes)

    def _rolled(
        self, numbers: _Int64s, begins: _Int64s, reach: _Int64s
    ) -> Iterator[tuple[int, _Int64s, _UInt64s]]:
        """Yield, for each indexed length, the positions with that many words left, and hashes."""
        rolled = self._codes[numbers[begins]]
        for length in range(1, max(self._indexed_sizes, default=0) + 1):
            if length > 1:
                far = reach >= length
                begins, reach, rolled = begins[far], reach[far], rolled[far]
                rolled = rolled * _FACTOR + self._codes[numbers[begins + length - 1]]
            if length in self._indexed_sizes:
                yield length, begins, rolled

    def find(self, documents: Sequence[str]) -> Hits:
        """Return the n-grams of the index that occur in the documents, none across documents."""
        # The border does not combine with its neighbours under NFC.
        text = f"\n{_BORDER}\n".join(document.casefold() for document in documents)
        words = split_folded(text)
        numbers = np.fromiter(map(self._numbers.get, words, repeat(0)), np.int64, len(words))
        found, positions = self._match(numbers)
        ngrams, first = np.unique(found, return_index=True)
        borders = np.flatnonzero(numbers == _BORDER_NUMBER)
        return Hits(ngrams, np.searchsorted(borders, positions[first]))

    def _match(self, numbers: _Int64s) -> tuple[_Int64s, _Int64s]:
        """Return the n-grams found and their positions, ordered by position."""
        stops = np.append(np.flatnonzero(numbers <= 0), len(numbers))
        known = np.flatnonzero(numbers > 0)
        reach = stops[np.searchsorted(stops, known)] - known  # known words from here on
        ngrams, positions = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for length, begins, rolled in self._rolled(numbers, known, reach):
            maybe = np.flatnonzero(self._table[_slots(rolled)])
            at, hashes = begins[maybe], rolled[maybe]
            ngram = np.minimum(np.searchsorted(self._hashes, hashes), self.ngrams - 1)
            same = (self._hashes[ngram] == hashes) & (self._ngram_sizes[ngram] == length)
            at, ngram = at[same], ngram[same]
            span = np.arange(length)
            words = self._flat[self._ngram_starts[ngram][:, None] + span]
            equal = (words == numbers[at[:, None] + span]).all(axis=1)
            ngrams.append(ngram[equal])
            positions.append(at[equal])
        ngram, position = np.concatenate(ngrams), np.concatenate(positions)
        order = np.argsort(position, kind="stable")
        return ngram[order], position[order]

    def covered(self, is_found: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return, for the words of all texts, whether each is part of an n-gram that was found."""
        edges = np.zeros(len(self._flat) + 1, np.int64)
        chosen = is_found[self._ngram_of]
        np.add.at(edges, self._starts[chosen], 1)
        np.add.at(edges, self._starts[chosen] + self._sizes[chosen], -1)
        covered: npt.NDArray[np.bool_] = np.cumsum(edges)[:-1] > 0
        return covered

    def words(self, start: int, end: int) -> str:
        """Return the words from `start` to `end`, counted over all texts."""
        return " ".join(self._words[number] for number in self._flat[start:end].tolist())

    def ngram_at(self, position: int) -> int:
        """Return the n-gram that starts at a word, counted over all texts."""
        return int(self._ngram_of[np.searchsorted(self._starts, position)])


def _slots(hashes: _UInt64s) -> _UInt64s:
    return hashes * _FACTOR >> np.uint64(64 - _TABLE_BITS)
