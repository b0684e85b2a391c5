"""Co-occurrence counts of pieces in a corpus, for word vectors.

Pieces are numbered by frequency rank, so that most counts fall into few pages of the table. A pair
is counted once, in the row of its rarer piece; the table is made symmetric at the end. Memory is
the table and one chunk, whatever the size of the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from greffe.data.shards import Int64s, TokenSplit

WINDOW = 5
TOKENS = 40_000_000
"""Tokens counted of a larger corpus: more would hardly change the vectors."""
CHUNK = 1 << 18  # its arrays stay in the processor's cache
TABLE_BYTES = 512 << 20
_BLOCK = 512


def spread_chunks(tokens: int, most: int = TOKENS, size: int = CHUNK) -> list[range]:
    """Return ranges of about `size` that cover all tokens, or `most` of them, evenly spread."""
    covered = min(tokens, most)
    count = -(-covered // size)
    chunks = []
    for number in range(count):
        begin, following = (tokens * index // count for index in (number, number + 1))
        first, last = (covered * index // count for index in (number, number + 1))
        chunks.append(range(begin, min(begin + last - first, following)))
    return chunks


def rank_pieces(
    split: TokenSplit, chunks: Sequence[range], vocab: int, specials: Sequence[int]
) -> Int64s:
    """Return the ids of the pieces that occur, most frequent first, without special pieces."""
    frequencies = np.zeros(vocab, np.int64)
    for chunk in chunks:
        frequencies += np.bincount(split.span(chunk.start, chunk.stop)[0], minlength=vocab)
    frequencies[list(specials)] = 0
    order = np.argsort(-frequencies, kind="stable")
    return order[: np.count_nonzero(frequencies)]


class CooccurrenceCounts:
    """How often two pieces occur within a window of each other.

    Rows are all ranked pieces; columns are as many of the most frequent ones as fit `table_bytes`.
    """

    def __init__(
        self,
        pieces: Int64s,
        vocab: int,
        *,
        window: int = WINDOW,
        table_bytes: int = TABLE_BYTES,
    ) -> None:
        self.window = window
        self._rows = len(pieces)
        a_column = max(1, self._rows) * np.dtype(np.float32).itemsize
        self._columns = min(self._rows, max(1, table_bytes // a_column))
        self._ranks = np.full(vocab, self._rows, np.int64)  # pieces without a rank
        self._ranks[pieces] = np.arange(self._rows)
        self._table = np.zeros(self._rows * self._columns, np.float32)

    def add(self, split: TokenSplit, chunk: range) -> None:
        """Count the pairs that begin in a chunk; pairs across documents are not counted."""
        ids, documents = split.span(chunk.start, min(chunk.stop + self.window, split.tokens))
        ranks = self._ranks[ids]
        for distance in range(1, self.window + 1):
            size = min(len(chunk), len(ids) - distance)
            if size <= 0:
                break
            left, right = slice(size), slice(distance, distance + size)
            frequent = np.minimum(ranks[left], ranks[right])
            rare = np.maximum(ranks[left], ranks[right])
            is_pair = documents[left] == documents[right]
            is_pair &= (rare < self._rows) & (frequent < self._columns)
            cells = rare * self._columns + frequent
            np.add.at(self._table, cells[is_pair], np.float32(1))

    def finish(self) -> npt.NDArray[np.float32]:
        """Make the table [pieces, contexts] symmetric and return it; call once, at the end."""
        table = self._table.reshape(self._rows, self._columns)
        # Only cells on or below the diagonal were counted. Block by block, because transposing
        # everything at once would need a second table.
        for begin in range(0, self._columns, _BLOCK):
            end = min(begin + _BLOCK, self._columns)
            block, rest = slice(begin, end), slice(end, self._columns)
            table[block, rest] = table[rest, block].T
            table[block, block] += table[block, block].T.copy()
        return table
