"""Runs of words that given texts share with others: an index of the texts, asked block by block.

Words of the texts are numbers; any other word is 0 and ends every run, so that the index does not
grow with what it is asked. Knows nothing of files and processes, nor of torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import numpy.typing as npt

from greffe.data.words import plain_words, split_folded
from greffe.seeding import rng

FEWEST_WORDS = 5  # shorter texts stand somewhere in any corpus
# Between documents. Casefolded text has no capitals, so that no document holds this word.
_BORDER = "DOCUMENT"
_BORDER_NUMBER = -1
_TABLE_BITS = 22
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits all over

_Int64s = npt.NDArray[np.int64]
_UInt64s = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Hits:
    """Runs that a block of documents holds, each once."""

    runs: _Int64s
    """Which run of the index."""
    documents: _Int64s
    """In which document of the block it stands first."""


class NgramIndex:
    """All runs of `size` words of some texts; of a shorter text, the whole of it."""

    def __init__(self, texts: Sequence[str], size: int) -> None:
        split = [plain_words(text) for text in texts]
        words = dict.fromkeys(word for parts in split for word in parts)
        self._numbers = {_BORDER: _BORDER_NUMBER}
        self._numbers.update((word, number) for number, word in enumerate(words, start=1))
        self._words = ["", *words]
        self._codes = rng(0, "words").integers(0, 2**64, len(words) + 1, np.uint64)
        self.lengths = np.array([len(parts) for parts in split], np.int64)
        """Words of each text."""
        self._flat = np.array([self._numbers[word] for parts in split for word in parts], np.int64)
        self._find_runs(size)

    def _find_runs(self, size: int) -> None:
        """Where runs begin, how long they are, and which of them are equal."""
        ends = np.cumsum(self.lengths)
        owners = np.repeat(np.arange(len(ends)), self.lengths)
        starts = np.arange(len(owners))
        sizes = np.minimum(self.lengths, size)[owners]
        is_run = (starts + sizes <= ends[owners]) & (sizes >= min(FEWEST_WORDS, size))
        self._starts, self._sizes = starts[is_run], sizes[is_run]
        self._asked = sorted(set(self._sizes.tolist()))
        hashes = np.zeros(len(self._starts), np.uint64)
        for length, begins, rolled in self._rolled(self._flat, self._starts, self._sizes):
            chosen = self._sizes == length
            hashes[chosen] = rolled[np.searchsorted(begins, self._starts[chosen])]
        # Equal runs are one: the first stands for all.
        self._hashes, first, self._run_of = np.unique(
            hashes, return_index=True, return_inverse=True
        )
        self._run_starts, self._run_sizes = self._starts[first], self._sizes[first]
        self._table = np.zeros(1 << _TABLE_BITS, np.bool_)
        self._table[_slots(self._hashes)] = True

    @property
    def runs(self) -> int:
        """How many different runs there are."""
        return len(self._hashes)

    def _rolled(
        self, numbers: _Int64s, begins: _Int64s, reach: _Int64s
    ) -> Iterator[tuple[int, _Int64s, _UInt64s]]:
        """For each asked length: places from which runs reach that far, and hashes of these."""
        rolled = self._codes[numbers[begins]]
        for length in range(1, max(self._asked, default=0) + 1):
            if length > 1:
                far = reach >= length
                begins, reach, rolled = begins[far], reach[far], rolled[far]
                rolled = rolled * _FACTOR + self._codes[numbers[begins + length - 1]]
            if length in self._asked:
                yield length, begins, rolled

    def find(self, documents: Sequence[str]) -> Hits:
        """The runs of the index that stand in the documents; none goes from one into the next."""
        # NFC works on each character and its followers: a border is neither.
        text = f"\n{_BORDER}\n".join(document.casefold() for document in documents)
        words = split_folded(text)
        numbers = np.fromiter(map(self._numbers.get, words, repeat(0)), np.int64, len(words))
        found, places = self._match(numbers)
        runs, first = np.unique(found, return_index=True)
        borders = np.flatnonzero(numbers == _BORDER_NUMBER)
        return Hits(runs, np.searchsorted(borders, places[first]))

    def _match(self, numbers: _Int64s) -> tuple[_Int64s, _Int64s]:
        """Runs and where they stand, by place."""
        stops = np.append(np.flatnonzero(numbers <= 0), len(numbers))
        known = np.flatnonzero(numbers > 0)
        reach = stops[np.searchsorted(stops, known)] - known  # known words from here on
        runs, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for length, begins, rolled in self._rolled(numbers, known, reach):
            maybe = np.flatnonzero(self._table[_slots(rolled)])
            at, hashes = begins[maybe], rolled[maybe]
            run = np.minimum(np.searchsorted(self._hashes, hashes), self.runs - 1)
            same = (self._hashes[run] == hashes) & (self._run_sizes[run] == length)
            at, run = at[same], run[same]
            span = np.arange(length)
            words = self._flat[self._run_starts[run][:, None] + span]
            equal = (words == numbers[at[:, None] + span]).all(axis=1)
            runs.append(run[equal])
            places.append(at[equal])
        run, place = np.concatenate(runs), np.concatenate(places)
        order = np.argsort(place, kind="stable")
        return run[order], place[order]

    def covered(self, is_found: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """[words of all texts] whether a word is part of one of the runs that were found."""
        edges = np.zeros(len(self._flat) + 1, np.int64)
        chosen = is_found[self._run_of]
        np.add.at(edges, self._starts[chosen], 1)
        np.add.at(edges, self._starts[chosen] + self._sizes[chosen], -1)
        covered: npt.NDArray[np.bool_] = np.cumsum(edges)[:-1] > 0
        return covered

    def words(self, start: int, end: int) -> str:
        """Words of the texts, counted over all of them."""
        return " ".join(self._words[number] for number in self._flat[start:end].tolist())

    def run_at(self, place: int) -> int:
        """The run that begins at a word, counted over all texts."""
        return int(self._run_of[np.searchsorted(self._starts, place)])


def _slots(hashes: _UInt64s) -> _UInt64s:
    return hashes * _FACTOR >> np.uint64(64 - _TABLE_BITS)
