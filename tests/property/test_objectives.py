"""All objectives, for any documents and any row length."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.data.shard_writer import ShardWriter
from greffe.data.shards import PackedRows, TokenSplit
from greffe.data.tokenizer import Tokenizer
from greffe.objectives.causal import Causal
from greffe.objectives.hybrid import Hybrid
from greffe.objectives.masked import Masked
from greffe.objectives.masking import Masker
from greffe.objectives.next_sentence import NextSentence
from greffe.objectives.objective import RowBatch
from greffe.seeding import rng

few = settings(deadline=None, max_examples=40)
tokens = st.integers(5, 400)
documents = st.lists(st.lists(tokens, max_size=40), min_size=1, max_size=12)
lengths = st.integers(8, 40)
seeds = st.integers(0, 2**32)


def pack(content: list[list[int]], length: int, tokenizer: Tokenizer) -> PackedRows:
    wrapped = [[tokenizer.sos, *document, tokenizer.eos] for document in content]
    flat = np.array([token for document in wrapped for token in document], "uint16")
    with tempfile.TemporaryDirectory() as folder:
        writer = ShardWriter(Path(folder), "train", "uint16")
        writer.add(flat, np.array([len(document) for document in wrapped]), len(flat))
        part = TokenSplit(
            Path(folder), [writer.close()], "uint16", pad=tokenizer.pad, vocab=tokenizer.size
        )
        return part.rows(np.arange(part.rows_total(length)), length)


def batch_of(packed: PackedRows, seed: int, partners: PackedRows | None = None) -> RowBatch:
    numbers = np.arange(len(packed.ids), dtype=np.int64)
    streams = [rng(seed, "corrupt", int(number)) for number in numbers]
    return RowBatch(packed, numbers, streams, partners)


@few
@given(
    row=st.lists(st.integers(0, 400), min_size=1, max_size=120),
    ratio=st.floats(0.001, 0.999),
    mask=st.floats(0, 1),
    fraction=st.floats(0, 1),
    seed=seeds,
)
def test_masking_is_exact(
    tiny_tokenizer: Tokenizer, row: list[int], ratio: float, mask: float, fraction: float, seed: int
) -> None:
    spec = Masked(ratio=ratio, mask=mask, random=fraction * (1 - mask))
    masker = Masker(spec, tiny_tokenizer)
    ids = np.array(row, dtype=np.int64)
    hidden, indices = masker.hide(ids, rng(seed, "x"))
    ordinary = int((~np.isin(ids, masker.specials)).sum())
    assert len(indices) == (max(1, round(ratio * ordinary)) if ordinary else 0)
    assert len(set(indices.tolist())) == len(indices)
    assert not np.isin(ids[indices], masker.specials).any()
    rest = np.setdiff1d(np.arange(len(ids)), indices)
    assert np.array_equal(hidden[rest], ids[rest])
    masked = int((hidden[indices] == tiny_tokenizer.mask).sum())
    assert abs(masked - spec.mask * len(indices)) < 1 + 1e-6
    changed = int((hidden[indices] != ids[indices]).sum()) - masked
    assert changed < spec.random * len(indices) + 1 + 1e-6


@few
@given(row=st.lists(st.integers(0, 400), min_size=1, max_size=120), seed=seeds)
def test_whole_words_stay_whole(tiny_tokenizer: Tokenizer, row: list[int], seed: int) -> None:
    masker = Masker(Masked(ratio=0.3, whole_word=True), tiny_tokenizer)
    ids = np.array(row, dtype=np.int64)
    _, indices = masker.hide(ids, rng(seed, "x"))
    ordinary = ~np.isin(ids, masker.specials)
    words = np.cumsum(tiny_tokenizer.starts_word[ids])
    whole = ordinary & np.isin(words, words[indices])
    assert np.array_equal(np.flatnonzero(whole), indices)
    assert bool(len(indices)) == bool(ordinary.any())
    wanted = max(1, round(0.3 * int(ordinary.sum())))
    assert len(indices) <= wanted or len(np.unique(words[indices])) == 1


@few
@given(content=documents, length=lengths)
def test_causal_covers_every_other_token_once(
    tiny_tokenizer: Tokenizer, content: list[list[int]], length: int
) -> None:
    packed = pack(content, length, tiny_tokenizer)
    batch = Causal().build(tiny_tokenizer, tied=True).prepare(batch_of(packed, 0))
    assert batch.indices is not None and batch.targets is not None
    indices = batch.indices.numpy()
    assert len(set(indices.tolist())) == len(indices)
    row, column = np.divmod(indices, length)
    assert np.array_equal(batch.targets.numpy(), packed.ids[row, column + 1])
    assert np.array_equal(packed.documents[row, column], packed.documents[row, column + 1])
    # What is left over: the first token of each stretch of a document in a row, and padding.
    stretches = sum(
        len(np.unique(packed.documents[n, : packed.lengths[n]])) for n in range(len(packed.ids))
    )
    assert len(indices) == int(packed.lengths.sum()) - stretches


@few
@given(content=documents, length=lengths, fraction=st.floats(0.001, 0.999))
def test_hybrid_reads_each_row_one_way(
    tiny_tokenizer: Tokenizer, content: list[list[int]], length: int, fraction: float
) -> None:
    packed = pack(content, length, tiny_tokenizer)
    objective = Hybrid(causal_fraction=fraction).build(tiny_tokenizer, tied=True)
    batch = objective.prepare(batch_of(packed, 0))
    sizes = {name: len(part.ids) for name, part in batch.parts.items()}
    assert sum(sizes.values()) == len(packed.ids)
    assert abs(sizes.get("causal", 0) - fraction * len(packed.ids)) < 1 + 1e-9


@few
@given(content=documents, length=lengths, seed=seeds)
def test_pairs_fit_and_strangers_are_strangers(
    tiny_tokenizer: Tokenizer, content: list[list[int]], length: int, seed: int
) -> None:
    # Every document speaks in one token of its own.
    marked = [[300 + number] * len(document) for number, document in enumerate(content)]
    packed = pack(marked, length, tiny_tokenizer)
    order = rng(seed, "partners").integers(len(packed.ids), size=len(packed.ids))
    partners = PackedRows(**{name: values[order] for name, values in vars(packed).items()})
    objective = NextSentence().build(tiny_tokenizer, tied=True)
    batch = objective.prepare(batch_of(packed, seed, partners))
    assert batch.indices is not None and batch.targets is not None and batch.follows is not None
    assert batch.ids.shape[1] <= length
    flat = batch.ids.reshape(-1).clone()
    flat[batch.indices] = batch.targets
    for row, follows in zip(flat.view_as(batch.ids).tolist(), batch.follows, strict=True):
        real = [token for token in row if token != tiny_tokenizer.pad]
        middle = real.index(tiny_tokenizer.eos)
        speakers = set(real[1:middle]) | set(real[middle + 1 : -1])
        assert real[0] == tiny_tokenizer.sos and real[-1] == tiny_tokenizer.eos
        if middle > 1 and len(real) > middle + 2:
            assert len(speakers) == (1 if follows else 2)
