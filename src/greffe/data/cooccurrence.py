"""Which pieces stand near which, counted in packed tokens. Knows nothing of vectors, nor of torch.

Pieces are numbered by rank, the most frequent one first, so that most counts fall into few pages
of the table. A pair is counted once, in the row of its rarer piece; the table is mirrored at the
end. Memory is the table and one chunk, whatever the size of the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from greffe.data.shards import Int64s, TokenSplit

WINDOW = 5
TOKENS = 40_000_000
"""So many are counted of a larger corpus: more would change the vectors very little."""
CHUNK = 1 << 18  # its arrays stay in the processor's cache
TABLE_BYTES = 512 << 20
_BLOCK = 512


@dataclass(frozen=True)
class Chunk:
    """Tokens from `begin` up to `end` of a part."""

    begin: int
    end: int

    @property
    def tokens(self) -> int:
        """How many these are."""
        return self.end - self.begin


def spread_chunks(tokens: int, most: int = TOKENS, size: int = CHUNK) -> list[Chunk]:
    """Chunks of about `size` that cover all tokens, or `most` of them, spread evenly."""
    wanted = min(tokens, most)
    count = -(-wanted // size)
    chunks = []
    for number in range(count):
        begin, following = (tokens * place // count for place in (number, number + 1))
        first, last = (wanted * place // count for place in (number, number + 1))
        chunks.append(Chunk(begin, min(begin + last - first, following)))
    return chunks


def rank_pieces(
    part: TokenSplit, chunks: Sequence[Chunk], vocab: int, specials: Sequence[int]
) -> Int64s:
    """Ids of the pieces that occur, the most frequent one first, without the special ones."""
    frequencies = np.zeros(vocab, np.int64)
    for chunk in chunks:
        frequencies += np.bincount(part.span(chunk.begin, chunk.end)[0], minlength=vocab)
    frequencies[list(specials)] = 0
    order = np.argsort(-frequencies, kind="stable")
    return order[: np.count_nonzero(frequencies)]


class NeighbourCounts:
    """How often the piece of a row and the piece of a column stand within a window, both ways.

    Rows are all ranked pieces, columns as many of the first ones as `table_bytes` has room for.
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
        self._ranks = np.full(vocab, self._rows, np.int64)  # what has no rank is behind all rows
        self._ranks[pieces] = np.arange(self._rows)
        self._table = np.zeros(self._rows * self._columns, np.float32)

    def add(self, part: TokenSplit, chunk: Chunk) -> None:
        """Count the pairs that begin in a chunk; no pair is of two documents."""
        ids, documents = part.span(chunk.begin, min(chunk.end + self.window, part.tokens))
        ranks = self._ranks[ids]
        for distance in range(1, self.window + 1):
            size = min(chunk.tokens, len(ids) - distance)
            if size <= 0:
                break
            left, right = slice(size), slice(distance, distance + size)
            frequent = np.minimum(ranks[left], ranks[right])
            rare = np.maximum(ranks[left], ranks[right])
            is_pair = documents[left] == documents[right]
            is_pair &= (rare < self._rows) & (frequent < self._columns)
            places = rare * self._columns + frequent
            np.add.at(self._table, places[is_pair], np.float32(1))

    def finish(self) -> npt.NDArray[np.float32]:
        """The table [pieces, contexts]; nothing can be added after it."""
        table = self._table.reshape(self._rows, self._columns)
        # Among the columns' own pieces, only what is not above the diagonal was counted. By
        # blocks: the whole of it transposed would be a second table.
        for begin in range(0, self._columns, _BLOCK):
            end = min(begin + _BLOCK, self._columns)
            block, rest = slice(begin, end), slice(end, self._columns)
            table[block, rest] = table[rest, block].T
            table[block, block] += table[block, block].T.copy()
        return table
