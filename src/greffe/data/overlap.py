"""Find texts that share long n-grams of words with a corpus, which is streamed.

The corpus is raw text or the output of `greffe prepare`. Memory does not grow with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from greffe.config.options import Reading
from greffe.data.corpus import Corpus, is_corpus, read_manifest
from greffe.data.ngram_index import Hits, NgramIndex
from greffe.data.processes import map_in_order
from greffe.data.text import check_readable, estimated_bytes, find_sources, read_documents
from greffe.errors import RecipeError
from greffe.machine import cores
from greffe.progress import Progress, notice

NGRAM_WORDS = 13
BLOCK_BYTES = 1 << 20
SMALL_CORPUS = 8 << 20  # bytes


@dataclass(frozen=True)
class SharedPassage:
    """Consecutive words that a text and a source have in common."""

    text: int
    words: str
    source: str


@dataclass(frozen=True)
class Overlap:
    """The overlap of texts with a corpus."""

    words: list[int]
    """Number of words per text."""
    covered: list[int]
    """Number of these words that are part of an n-gram of the corpus."""
    example: SharedPassage | None
    """The longest shared passage; its source is where its first n-gram was first found."""
    documents: int
    """Number of documents in the corpus."""

    @property
    def texts(self) -> list[int]:
        """Indices of the texts that share at least one n-gram."""
        return [number for number, words in enumerate(self.covered) if words]


@dataclass
class _Block:
    """Documents that are searched together."""

    documents: list[str] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    """Index of the source of each document."""
    bytes: int = 0


def corpus_overlap(
    texts: Sequence[str],
    sources: Sequence[str | Path],
    options: Reading,
    *,
    size: int = NGRAM_WORDS,
    workers: int = 0,
) -> Overlap:
    """Find the texts that share an n-gram of `size` words with a document of the sources.

    A shorter text of at least five words counts if a document contains all of it. Sources are
    files, folders, patterns or prepared corpora; `workers=0` uses all cores.
    """
    if size < 1 or workers < 0:
        raise RecipeError(
            "Invalid n-gram size or number of workers.",
            expected="size ≥ 1, workers ≥ 0 (0: all cores)",
            found=f"size {size}, workers {workers}",
        )
    names = _names(sources)
    amount = _amount(names)
    # Starting a process takes as long as searching several blocks.
    is_small = amount is not None and amount < SMALL_CORPUS
    index = NgramIndex(texts, size)
    source_of = np.full(index.ngrams, -1, np.int64)  # where each n-gram was first found
    documents = 0
    results = map_in_order(
        _find,
        index,
        _blocks(names, options),
        1 if is_small else workers or cores(),
        hint="fewer processes or a smaller corpus need less memory",
    )
    with Progress("overlap", amount, "bytes") as progress, closing(results):
        for block, hits in results:
            numbers = np.array(block.sources)[hits.documents]
            is_new = source_of[hits.ngrams] < 0
            source_of[hits.ngrams[is_new]] = numbers[is_new]
            documents += len(block.documents)
            progress.advance(block.bytes)
    return _summary(index, source_of, names, documents)


def check_corpora(sources: Sequence[str | Path], options: Reading) -> None:
    """Raise an error if one of the sources of `corpus_overlap` cannot be read."""
    names = _names(sources)
    check_readable((name for name in names if not is_corpus(name)), options)
    for name in names:
        if is_corpus(name):
            Corpus.open(name)


def _find(index: NgramIndex, block: _Block) -> Hits:
    return index.find(block.documents)


def _names(sources: Sequence[str | Path]) -> list[str]:
    """Return the files of raw text, then the prepared corpora."""
    raw = [source for source in sources if not is_corpus(source)]
    prepared = [str(source) for source in sources if is_corpus(source)]
    return [*(find_sources(raw) if raw else []), *prepared]


def _amount(names: Sequence[str]) -> int | None:
    """Estimate the bytes of text; None if unknown."""
    raw = estimated_bytes([name for name in names if not is_corpus(name)])
    prepared = sum(read_manifest(Path(name)).bytes for name in names if is_corpus(name))
    return None if raw is None else raw + prepared


def _blocks(names: Sequence[str], options: Reading) -> Iterator[_Block]:
    block = _Block()
    for number, name in enumerate(names):
        for document in _decoded(name) if is_corpus(name) else read_documents(name, options):
            block.documents.append(document)
            block.sources.append(number)
            block.bytes += len(document.encode("utf-8", "surrogatepass"))
            if block.bytes >= BLOCK_BYTES:
                yield block
                block = _Block()
    if block.documents:
        yield block


def _decoded(name: str) -> Iterator[str]:
    """Yield the decoded documents of both splits of a prepared corpus."""
    corpus = Corpus.open(name)
    notice(f"{name} is a prepared corpus: decoding its tokens takes longer than reading text")
    for split in (corpus.train, corpus.valid):
        for number in range(split.documents):
            yield corpus.tokenizer.decode(split.document(number).tolist())


def _summary(
    index: NgramIndex, source_of: npt.NDArray[np.int64], names: Sequence[str], documents: int
) -> Overlap:
    is_covered = index.covered(source_of >= 0)
    texts = np.repeat(np.arange(len(index.lengths)), index.lengths)
    covered = np.bincount(texts[is_covered], minlength=len(index.lengths))
    example = None
    if is_covered.any():
        # A passage continues while words are covered and belong to the same text.
        continues = is_covered[1:] & is_covered[:-1] & (texts[1:] == texts[:-1])
        begins = np.flatnonzero(is_covered & ~np.append(False, continues))
        ends = np.flatnonzero(is_covered & ~np.append(continues, False)) + 1
        longest = int(np.argmax(ends - begins))
        begin, end = int(begins[longest]), int(ends[longest])
        source = names[int(source_of[index.ngram_at(begin)])]
        example = SharedPassage(int(texts[begin]), index.words(begin, end), source)
    return Overlap(index.lengths.tolist(), covered.tolist(), example, documents)
