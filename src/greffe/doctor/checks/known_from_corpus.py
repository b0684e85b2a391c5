"""Texts of the last part that the pretraining corpus contains."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from greffe.data.overlap import NGRAM_WORDS, corpus_overlap
from greffe.data.words import excerpt
from greffe.doctor.checks.check import LabelledData, register
from greffe.doctor.finding import Finding

MUCH_OVERLAP = 0.01  # fraction of texts found in the corpus that is serious


@register("overlap with the corpus", order=10, kinds=("corpus_overlap",), needs=("corpus",))
def known_from_corpus(data: LabelledData) -> Iterator[Finding]:
    """Find texts that share many words in a row with the corpus: serious, or a warning if few."""
    where, examples = data.last
    texts = [example.text for example in examples]
    overlap = corpus_overlap(texts, data.corpus, data.reading)
    if overlap.example is None:
        return
    found = overlap.texts
    words = sum(overlap.words[index] for index in found)
    yield Finding(
        kind="corpus_overlap",
        severity="serious" if len(found) > MUCH_OVERLAP * len(examples) else "warning",
        count=len(found),
        total=len(examples),
        where=where,
        example=excerpt(overlap.example.words),
        detail={
            "words": NGRAM_WORDS,
            "covered": sum(overlap.covered) / words,
            "source": Path(overlap.example.source).name,
        },
    )
