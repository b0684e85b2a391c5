"""Synthetic data, the same for every contender: ids, reviews, texts, vocabularies.

Every choice is a function of a seed. Words follow Zipf's law and lengths are log-normal, as in
real text, so that embedding gradients and padding have realistic costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tokenizers import models

from greffe.config.sections import TokenizerSpec
from greffe.data.native_tokenizer import NativeTokenizer, train_tokenizer
from greffe.data.pieces import (
    BYTE_PIECES,
    SPACE,
    SPECIALS,
    assemble,
    trained_normalizer,
    trained_splitter,
)
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.seeding import rng

Ids = npt.NDArray[np.int64]

MEDIAN_LENGTH = 90
LENGTH_SIGMA = 0.76  # a mean of 120 before texts are truncated at the context
SIGNAL = 0.05  # fraction of a review's words that reveal its class
TELLING_WORDS = 40
FLATTENING = 2.7  # Zipf-Mandelbrot: the most frequent words are less frequent than by Zipf's law
CONSONANTS = "bcdfgjlmnprstvz"
VOWELS = "aeiou"


def tokenizer_of(size: int) -> Tokenizer:
    """Return a tokenizer of this size: specials, bytes, numbered words."""
    reserved = (*SPECIALS, *BYTE_PIECES)
    pieces = (*reserved, *(f"{SPACE}w{number}" for number in range(size - len(reserved))))
    model = models.BPE(
        vocab={piece: number for number, piece in enumerate(pieces)},
        merges=[],
        unk_token="<oov>",
        byte_fallback=True,
    )
    return NativeTokenizer(assemble(model, trained_normalizer(), trained_splitter(), SPECIALS))


def zipf(random: np.random.Generator, count: int, size: int) -> Ids:
    """Draw `count` numbers below `size` by Zipf's law."""
    edges = np.cumsum(1.0 / (np.arange(size) + FLATTENING))
    drawn: Ids = np.searchsorted(edges, random.random(count) * edges[-1]).astype(np.int64)
    return drawn


def word_ids(random: np.random.Generator, count: int, vocab: int) -> Ids:
    """Draw ids of numbered words, without specials and bytes."""
    reserved = len(SPECIALS) + len(BYTE_PIECES)
    return reserved + zipf(random, count, vocab - reserved)


def whole_rows(seed: int, rows: int, length: int, tokenizer: Tokenizer) -> Ids:
    """Return rows [B, T] of one document each, starting with <sos>."""
    random = rng(seed, "benchmark rows")
    ids = word_ids(random, rows * length, tokenizer.size).reshape(rows, length)
    ids[:, 0] = tokenizer.sos
    return ids


def packed(ids: Ids) -> PackedRows:
    """Return the rows in the form of greffe's corpus."""
    rows, length = ids.shape
    return PackedRows(
        ids=ids,
        lengths=np.full(rows, length, np.int64),
        documents=np.zeros_like(ids),
        positions=np.tile(np.arange(length), (rows, 1)),
        first_document=np.arange(rows),
    )


@dataclass(frozen=True)
class Reviews:
    """Labelled rows `<sos> … <eos>`."""

    rows: list[Ids]
    labels: list[int]

    def part(self, number: int, parts: int) -> Reviews:
        """Return one of several parts with the same distribution of lengths."""
        order = sorted(range(len(self.rows)), key=lambda index: len(self.rows[index]))
        chosen = sorted(order[number % parts :: parts])
        return Reviews([self.rows[i] for i in chosen], [self.labels[i] for i in chosen])


def lengths(random: np.random.Generator, count: int, longest: int) -> Ids:
    """Draw words per text: most are short, some are long, the longest are truncated."""
    drawn = random.lognormal(np.log(MEDIAN_LENGTH), LENGTH_SIGMA, count)
    return np.clip(drawn, 3, longest).astype(np.int64)


def reviews(seed: int, count: int, context: int, tokenizer: Tokenizer) -> Reviews:
    """Return reviews of two classes that a few words reveal."""
    random = rng(seed, "benchmark reviews")
    labels = random.integers(2, size=count).tolist()
    rows = []
    for size, label in zip(lengths(random, count, context - 2), labels, strict=True):
        words = _with_signal(
            random, word_ids(random, int(size), tokenizer.size), label, tokenizer.size
        )
        rows.append(tokenizer.wrap(words.tolist()))
    return Reviews(rows, labels)


def _with_signal(random: np.random.Generator, ids: Ids, label: int, vocab: int) -> Ids:
    telling = vocab - TELLING_WORDS * (label + 1) + random.integers(TELLING_WORDS, size=len(ids))
    return np.where(random.random(len(ids)) < SIGNAL, telling, ids)


def review_texts(seed: int, count: int, words: int, context: int) -> tuple[list[str], list[str]]:
    """Return texts over a synthetic dictionary of `words` words, and their labels."""
    random = rng(seed, "benchmark texts")
    dictionary = np.array(_dictionary(words))
    texts, labels = [], []
    for size in lengths(random, count, context - 2):
        label = int(random.integers(2))
        chosen = _with_signal(random, zipf(random, int(size), words), label, words)
        texts.append(" ".join(dictionary[chosen]).capitalize() + ".")
        labels.append(("negative", "positive")[label])
    return texts, labels


def _dictionary(words: int) -> list[str]:
    """Return different words of two to four syllables; the same for every seed of the texts."""
    random = rng(0, "benchmark dictionary")
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    found: dict[str, None] = {}
    while len(found) < words:
        found["".join(random.choice(syllables, size=int(random.integers(2, 5))))] = None
    return list(found)


def text_tokenizer(texts: list[str], vocab: int) -> Tokenizer:
    """Train a BPE tokenizer on the texts."""
    return train_tokenizer(texts, TokenizerSpec(kind="bpe", vocab=vocab))
