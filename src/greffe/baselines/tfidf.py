"""TF-IDF of words and characters: texts → sparse rows, and the vectorizers as lists and arrays.

Knows no labels. Words in runs of 1-2, characters in runs of 2-5 inside words; what is shared with
texts of other people are words alone, without accents, each in two texts or more. Each block's rows
have length one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from greffe.errors import CorruptError, DataError

BLOCKS: Mapping[str, Mapping[str, Any]] = {
    "words": {"analyzer": "word", "ngram_range": (1, 2)},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
    "shared": {
        "analyzer": "word",
        "ngram_range": (1, 2),
        "min_df": 2,
        "strip_accents": "unicode",
        "token_pattern": r"(?u)\b\w+\b|[!?]",
    },
}
OWN = ("words", "characters")
SHARED = ("shared",)


class Tfidf:
    """A vocabulary a block, with the weight of each term; one without any term has no columns."""

    def __init__(
        self, vocabularies: Mapping[str, Sequence[str]], idf: Mapping[str, np.ndarray]
    ) -> None:
        # Columns stand in the order of BLOCKS, whatever order a file has.
        self.vocabularies = {n: list(vocabularies[n]) for n in BLOCKS if n in vocabularies}
        self.idf = {name: np.asarray(idf[name], dtype=np.float32) for name in self.vocabularies}
        for name, terms in self.vocabularies.items():
            if self.idf[name].shape != (len(terms),) or len(set(terms)) != len(terms):
                raise CorruptError(
                    f"The TF-IDF {name} do not belong together.",
                    expected=f"{len(terms):,} different terms, each with one weight",
                    found=f"{len(set(terms)):,} terms, weights {self.idf[name].shape}",
                )

    @classmethod
    def fit(cls, texts: Sequence[str], blocks: Sequence[str] = OWN) -> tuple[Self, Any]:
        """Terms of these texts, weighted by how few have them; and `transform` of the texts."""
        vocabularies: dict[str, list[str]] = {}
        idf, counted = {}, {}
        for name in blocks:
            counter = _counter(name)
            try:
                counts = counter.fit_transform(texts)
            except ValueError:  # what scikit-learn says of texts without any term
                vocabularies[name], idf[name] = [], np.empty(0)
                continue
            found_in = np.bincount(counts.indices, minlength=counts.shape[1])
            vocabularies[name] = counter.get_feature_names_out().tolist()
            idf[name] = np.log((1 + len(texts)) / (1 + found_in)) + 1
            counted[name] = counts
        if not any(vocabularies.values()):
            often = " that stand in two of them" if blocks == SHARED else ""
            raise DataError(
                f"There are no words{often} in the texts.",
                expected=f"texts with letters or digits, words{often}",
                found=f"{len(texts)} texts, the first is {texts[0][:40]!r}" if texts else "none",
                hint="name the columns: --text-column NAME --label-column NAME",
            )
        fitted = cls(vocabularies, idf)
        return fitted, fitted._weighted(counted)

    @property
    def columns(self) -> int:
        """Features of a text."""
        return sum(len(terms) for terms in self.vocabularies.values())

    def transform(self, texts: Sequence[str]) -> Any:
        """Sparse rows [N, columns], float32; a text without a known term is all zeros."""
        return self._weighted(
            {
                name: _counter(name, terms).transform(texts)
                for name, terms in self.vocabularies.items()
                if terms
            }
        )

    def _weighted(self, counts: Mapping[str, Any]) -> Any:
        """Counts of terms → damped, weighted rows of length one, block beside block."""
        from scipy import sparse
        from sklearn.feature_extraction.text import TfidfTransformer

        blocks = []
        for name, matrix in counts.items():
            weigher = TfidfTransformer(sublinear_tf=True)
            weigher.idf_ = self.idf[name]
            blocks.append(weigher.transform(matrix))
        return sparse.hstack(blocks, format="csr")


def _counter(name: str, terms: Sequence[str] | None = None) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    known = None if terms is None else {term: place for place, term in enumerate(terms)}
    return CountVectorizer(**BLOCKS[name], vocabulary=known, dtype=np.float32)
