"""TF-IDF of words and characters: texts → sparse rows. Saved as term lists and weights.

A block is one scikit-learn `TfidfVectorizer`; the rows of a block have length one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from greffe.errors import CorruptError, DataError

WORDS_AND_MARKS = r"(?u)\b\w+\b|[!?]"
BLOCKS: Mapping[str, Mapping[str, Any]] = {
    "words": {"analyzer": "word", "ngram_range": (1, 2)},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
    # Words shared with auxiliary data.
    "shared": {
        "analyzer": "word",
        "ngram_range": (1, 2),
        "min_df": 2,
        "strip_accents": "unicode",
        "token_pattern": WORDS_AND_MARKS,
    },
    # Words of texts without labels.
    "latent": {
        "analyzer": "word",
        "ngram_range": (1, 2),
        "min_df": 5,
        "max_features": 40_000,
        "strip_accents": "unicode",
        "token_pattern": WORDS_AND_MARKS,
    },
}
OWN = ("words", "characters")
SHARED = ("shared",)
LATENT = ("latent",)


class Tfidf:
    """A fitted vectorizer for each block that has terms, in the order of BLOCKS."""

    def __init__(self, vectorizers: Mapping[str, Any]) -> None:
        self.vectorizers = {name: vectorizers[name] for name in BLOCKS if name in vectorizers}

    @classmethod
    def fit(cls, texts: Sequence[str], blocks: Sequence[str] = OWN) -> tuple[Self, Any]:
        """Fit to the texts; return the vectorizers and the texts' rows."""
        from scipy import sparse

        check_terms(texts, blocks)
        fitted, rows = {}, []
        for name in blocks:
            vectorizer = _vectorizer(name)
            try:
                rows.append(vectorizer.fit_transform(texts))
            except ValueError:  # scikit-learn's answer to texts without a single term
                continue
            fitted[name] = vectorizer
        return cls(fitted), sparse.hstack(rows, format="csr")

    @classmethod
    def restore(
        cls, vocabularies: Mapping[str, Sequence[str]], idf: Mapping[str, np.ndarray]
    ) -> Self:
        """Rebuild from the terms and weights of each block."""
        vectorizers = {}
        for name, terms in vocabularies.items():
            vectorizers[name] = _vectorizer(name, vocabulary=list(terms))
            try:
                vectorizers[name].idf_ = np.asarray(idf[name], dtype=np.float32)
            except ValueError:  # duplicate terms, or another number of weights
                raise CorruptError(
                    f"The TF-IDF terms and weights of block {name!r} do not match.",
                    expected=f"{len(terms):,} different terms, each with one weight",
                    found=f"{len(set(terms)):,} terms, weights {idf[name].shape}",
                ) from None
        return cls(vectorizers)

    def __or__(self, other: Tfidf) -> Tfidf:
        """Return the blocks of both."""
        return Tfidf(self.vectorizers | other.vectorizers)

    @property
    def vocabularies(self) -> dict[str, list[str]]:
        """The terms of each block, in column order."""
        return {
            name: vectorizer.get_feature_names_out().tolist()
            for name, vectorizer in self.vectorizers.items()
        }

    @property
    def idf(self) -> dict[str, np.ndarray]:
        """The weight of each term."""
        return {name: vectorizer.idf_ for name, vectorizer in self.vectorizers.items()}

    @property
    def columns(self) -> int:
        """Number of features."""
        return sum(len(weights) for weights in self.idf.values())

    def transform(self, texts: Sequence[str]) -> Any:
        """Return sparse rows [N, columns], float32; a text without a known term is all zeros."""
        from scipy import sparse

        parts = [vectorizer.transform(texts) for vectorizer in self.vectorizers.values()]
        return sparse.hstack(parts, format="csr")


def check_terms(texts: Sequence[str], blocks: Sequence[str] = OWN) -> None:
    """Raise an error if no block has a term; read only as many texts as it takes to know."""
    for name in blocks:
        analyze, least = _vectorizer(name).build_analyzer(), BLOCKS[name].get("min_df", 1)
        found: Counter[str] = Counter()
        for text in texts:
            terms = set(analyze(text))
            found.update(terms)
            if any(found[term] >= least for term in terms):
                return
    least = BLOCKS[blocks[-1]].get("min_df", 1)
    often = f" that occur in {least} of them" if least > 1 else ""
    raise DataError(
        f"There are no words{often} in the texts.",
        expected=f"texts with letters or digits, words{often}",
        found=f"{len(texts)} texts, the first is {texts[0][:40]!r}" if texts else "none",
        hint="name the columns: --text-column NAME --label-column NAME",
    )


def _vectorizer(name: str, vocabulary: list[str] | None = None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(
        **BLOCKS[name], vocabulary=vocabulary, sublinear_tf=True, dtype=np.float32
    )
