"""Which texts share long runs of words with a corpus: read as a stream, in constant memory.

The corpus is raw text or what `greffe prepare` wrote. Knows nothing of labels and models, nor of
torch.
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
from greffe.data.text import estimated_bytes, find_sources, read_documents
from greffe.errors import RecipeError
from greffe.machine import cores
from greffe.progress import Progress, notice

NGRAM_WORDS = 13
BLOCK_BYTES = 1 << 20
SMALL_CORPUS = 8 << 20  # bytes


@dataclass(frozen=True)
class SharedPassage:
    """Words that a text and a source have in common."""

    text: int
    words: str
    source: str


@dataclass(frozen=True)
class Overlap:
    """What texts share with a corpus."""

    words: list[int]
    """Words of each text."""
    covered: list[int]
    """How many of them stand in the corpus, in runs long enough to be no chance."""
    example: SharedPassage | None
    """The longest run that was found; the source is where it begins first."""
    documents: int
    """Documents of the corpus that were read."""

    @property
    def texts(self) -> list[int]:
        """Texts that share at least one run, by number."""
        return [number for number, words in enumerate(self.covered) if words]


@dataclass
class _Block:
    """Documents that are looked at together."""

    documents: list[str] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    """Number of the source of each."""
    bytes: int = 0


def corpus_overlap(
    texts: Sequence[str],
    sources: Sequence[str | Path],
    options: Reading,
    *,
    size: int = NGRAM_WORDS,
    workers: int = 0,
) -> Overlap:
    """Which texts have a run of `size` words in common with a document of the sources.

    A text that is shorter, of five words or more, is found if all of it stands there. Sources are
    files, folders, patterns or prepared corpora; `workers=0` uses all cores.
    """
    if size < 1 or workers < 0:
        raise RecipeError(
            "A run has one word or more, and the work at least one process.",
            expected="size ≥ 1, workers ≥ 0 (0: all cores)",
            found=f"size {size}, workers {workers}",
        )
    raw = [source for source in sources if not is_corpus(source)]
    prepared = [str(source) for source in sources if is_corpus(source)]
    names = [*(find_sources(raw) if raw else []), *prepared]
    amount = _amount(names)
    # To start a process takes as long as to look at several blocks.
    is_small = amount is not None and amount < SMALL_CORPUS
    index = NgramIndex(texts, size)
    source_of = np.full(index.runs, -1, np.int64)  # where each run was seen first
    documents = 0
    results = map_in_order(
        _find,
        index,
        _blocks(names, options),
        1 if is_small else workers or cores(),
        hint="a smaller corpus, or fewer processes, need less memory",
    )
    with Progress("overlap", amount, "bytes") as progress, closing(results):
        for block, hits in results:
            numbers = np.array(block.sources)[hits.documents]
            is_new = source_of[hits.runs] < 0
            source_of[hits.runs[is_new]] = numbers[is_new]
            documents += len(block.documents)
            progress.advance(block.bytes)
    return _summary(index, source_of, names, documents)


def _find(index: NgramIndex, block: _Block) -> Hits:
    return index.find(block.documents)


def _amount(names: Sequence[str]) -> int | None:
    """About how many bytes of text there are; None where that cannot be told."""
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
    """Documents of a prepared corpus, both parts."""
    corpus = Corpus.open(name)
    notice(f"{name} is tokens: turning them back into text takes longer than reading text does")
    for part in (corpus.train, corpus.valid):
        for number in range(part.documents):
            yield corpus.tokenizer.decode(part.document(number).tolist())


def _summary(
    index: NgramIndex, source_of: npt.NDArray[np.int64], names: Sequence[str], documents: int
) -> Overlap:
    is_covered = index.covered(source_of >= 0)
    texts = np.repeat(np.arange(len(index.lengths)), index.lengths)
    covered = np.bincount(texts[is_covered], minlength=len(index.lengths))
    example = None
    if is_covered.any():
        # A run goes on as long as words are covered and of the same text.
        goes_on = is_covered[1:] & is_covered[:-1] & (texts[1:] == texts[:-1])
        begins = np.flatnonzero(is_covered & ~np.append(False, goes_on))
        ends = np.flatnonzero(is_covered & ~np.append(goes_on, False)) + 1
        longest = int(np.argmax(ends - begins))
        begin, end = int(begins[longest]), int(ends[longest])
        source = names[int(source_of[index.run_at(begin)])]
        example = SharedPassage(int(texts[begin]), index.words(begin, end), source)
    return Overlap(index.lengths.tolist(), covered.tolist(), example, documents)
