"""Terms of a text, counted as scikit-learn counts them, without importing it.

scikit-learn takes most of a second to import, longer than a prediction from a new process may take.
The settings of each block are those of `tfidf.BLOCKS`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from greffe.baselines.tfidf import BLOCKS

Counts = tuple[np.ndarray, np.ndarray]
"""Columns of the terms of some texts [N, most], and how often each occurs; 0 is padding."""
TWO_LETTERS = r"(?u)\b\w\w+\b"
_SPACES = re.compile(r"\s\s+")


class TermCounter:
    """Counts the terms of one TF-IDF block."""

    def __init__(self, block: str, terms: Sequence[str]) -> None:
        self._columns = {term: column for column, term in enumerate(terms)}
        self._analyze = analyzer(BLOCKS[block])

    def count(self, texts: Sequence[str]) -> Counts:
        """Return the columns of the known terms of each text, and their counts."""
        known = self._columns
        found = [
            Counter(known[term] for term in self._analyze(text) if term in known) for text in texts
        ]
        most = max(1, max(map(len, found), default=0))
        columns = np.zeros((len(texts), most), np.int64)
        counts = np.zeros((len(texts), most), np.float32)
        for row, counter in enumerate(found):
            columns[row, : len(counter)] = list(counter.keys())
            counts[row, : len(counter)] = list(counter.values())
        return columns, counts


def analyzer(settings: Mapping[str, Any]) -> Callable[[str], Iterator[str]]:
    """Return what finds the terms of a text, with these settings of a TfidfVectorizer."""
    least, most = settings["ngram_range"]
    drops_accents = settings.get("strip_accents") == "unicode"
    words = re.compile(settings.get("token_pattern", TWO_LETTERS))

    def word_terms(text: str) -> Iterator[str]:
        found = words.findall(text)
        for size in range(least, most + 1):
            for start in range(len(found) - size + 1):
                yield " ".join(found[start : start + size])

    def character_terms(text: str) -> Iterator[str]:
        for word in _SPACES.sub(" ", text).split():
            padded = f" {word} "
            for size in range(least, most + 1):
                for start in range(max(1, len(padded) - size + 1)):
                    yield padded[start : start + size]
                if len(padded) <= size:  # a short word is a term once
                    break

    terms = word_terms if settings["analyzer"] == "word" else character_terms

    def analyze(text: str) -> Iterator[str]:
        lower = text.lower()
        return terms(without_accents(lower) if drops_accents else lower)

    return analyze


def without_accents(text: str) -> str:
    """Return a text without its accents, as scikit-learn's strip_accents="unicode"."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(each for each in decomposed if not unicodedata.combining(each))
