"""Pairs of pieces, counted: against a dictionary, at every kind of border, in any chunks."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from greffe.data import cooccurrence
from greffe.data.cooccurrence import CooccurrenceCounts, rank_pieces, spread_chunks
from greffe.data.shard_writer import ShardWriter
from greffe.data.shards import TokenSplit
from greffe.seeding import rng

SOS, PAD, EOS, OOV, MASK = SPECIALS = range(5)
VOCAB = 20
Pairs = dict[tuple[int, int], float]


def make_part(folder: Path, *shards: list[list[int]]) -> TokenSplit:
    """Documents of each shard, given without <sos> and <eos>."""
    infos = []
    for number, documents in enumerate(shards):
        writer = ShardWriter(folder, f"train-{number:05}", "uint16")
        for words in documents:
            ids = np.array([SOS, *words, EOS], "uint16")
            writer.add(ids, np.array([len(ids)]), text_bytes=len(ids))
        infos.append(writer.close())
    return TokenSplit(folder, infos, "uint16", pad=PAD, vocab=1 << 16)


def random_documents(count: int, seed: int) -> list[list[int]]:
    """Documents of 0 to 14 tokens, <oov> among them, small ids more often."""
    draw = rng(seed, "documents")
    return [
        np.minimum(OOV + draw.geometric(0.2, draw.integers(15)) - 1, VOCAB - 2).tolist()
        for _ in range(count)
    ]


def counted(part: TokenSplit, chunks: list[range], **choices: int) -> Pairs:
    """(word, context) → how often, without zeros."""
    pieces = rank_pieces(part, chunks, VOCAB, SPECIALS)
    counts = CooccurrenceCounts(pieces, VOCAB, **choices)
    for chunk in chunks:
        counts.add(part, chunk)
    table = counts.finish()
    assert table.dtype == np.float32
    rows, columns = table.nonzero()
    return {
        (int(pieces[row]), int(pieces[column])): float(table[row, column])
        for row, column in zip(rows, columns, strict=True)
    }


def slowly(documents: list[list[int]], window: int = 5) -> Pairs:
    pairs: Counter[tuple[int, int]] = Counter()
    for words in documents:
        for position, word in enumerate(words):
            for other in range(max(0, position - window), min(len(words), position + window + 1)):
                if other != position and not {word, words[other]} & set(SPECIALS):
                    pairs[word, words[other]] += 1
    return dict(pairs)


@pytest.mark.parametrize("window", [1, 5, 9])
def test_counts_are_those_of_a_dictionary(tmp_path: Path, window: int) -> None:
    documents = random_documents(60, seed=1)
    part = make_part(tmp_path, documents[:25], documents[25:])
    assert counted(part, [range(part.tokens)], window=window) == slowly(documents, window)


def test_no_pair_is_of_two_documents_or_shards(tmp_path: Path) -> None:
    part = make_part(tmp_path, [[7, 8], [9]], [[10, 7]])
    pairs = counted(part, [range(part.tokens)])
    assert pairs == {(7, 8): 1, (8, 7): 1, (7, 10): 1, (10, 7): 1}


def test_specials_are_not_counted_but_occupy_a_position(tmp_path: Path) -> None:
    part = make_part(tmp_path, [[7, OOV, MASK, 8]])
    whole = [range(part.tokens)]
    assert rank_pieces(part, whole, VOCAB, SPECIALS).tolist() == [7, 8]
    assert counted(part, whole, window=2) == {}
    assert counted(part, whole, window=3) == {(7, 8): 1, (8, 7): 1}


def test_a_word_beside_itself_counts_both_ways(tmp_path: Path) -> None:
    part = make_part(tmp_path, [[7, 7, 7]])
    assert counted(part, [range(part.tokens)]) == {(7, 7): 6}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_chunk_borders_lose_no_pair_and_count_none_twice(tmp_path: Path, size: int) -> None:
    documents = random_documents(40, seed=2)
    part = make_part(tmp_path, documents[:10], documents[10:])
    chunks = spread_chunks(part.tokens, size=size)
    assert len(chunks) == -(-part.tokens // size)
    assert counted(part, chunks) == slowly(documents)


def test_pieces_are_ranked_by_frequency_then_by_id(tmp_path: Path) -> None:
    part = make_part(tmp_path, [[9, 6, 9], [12, 6, 9, 7]])
    assert rank_pieces(part, [range(part.tokens)], VOCAB, SPECIALS).tolist() == [9, 6, 7, 12]


@pytest.mark.parametrize("columns", [1, 3, 8])
def test_contexts_are_the_most_frequent_pieces_that_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr(cooccurrence, "_BLOCK", 3)  # several, the last one short
    documents = random_documents(60, seed=3)
    part = make_part(tmp_path, documents)
    whole = [range(part.tokens)]
    pieces = rank_pieces(part, whole, VOCAB, SPECIALS).tolist()
    assert len(pieces) > 8
    found = counted(part, whole, table_bytes=columns * 4 * len(pieces) + 3)
    contexts = set(pieces[:columns])
    assert found == {pair: n for pair, n in slowly(documents).items() if pair[1] in contexts}


@pytest.mark.parametrize(("vocab", "contexts"), [(8_000, 8_000), (50_001, 2_684)])
def test_the_table_stays_below_half_a_gigabyte(vocab: int, contexts: int) -> None:
    # Memory of zeros is only taken where something is written.
    table = CooccurrenceCounts(np.arange(vocab), vocab)._table
    assert table.size == vocab * contexts
    assert table.nbytes <= 512 << 20


def test_nothing_to_count(tmp_path: Path) -> None:
    part = make_part(tmp_path, [[], [OOV]])
    whole = [range(part.tokens)]
    pieces = rank_pieces(part, whole, VOCAB, SPECIALS)
    counts = CooccurrenceCounts(pieces, VOCAB)
    counts.add(part, whole[0])
    assert counts.finish().shape == (0, 0)
    assert spread_chunks(0) == []


# --- which tokens of a large corpus -------------------------------------------------------------


@pytest.mark.parametrize("tokens", [1, 99, 100, 101, 1_000, 1_007])
def test_up_to_the_limit_all_are_counted(tokens: int) -> None:
    chunks = spread_chunks(tokens, most=1_007, size=100)
    assert [chunk.start for chunk in chunks] == [0, *(chunk.stop for chunk in chunks[:-1])]
    assert chunks[-1].stop == tokens
    assert all(1 <= len(chunk) <= 100 for chunk in chunks)


@pytest.mark.parametrize("tokens", [1_001, 1_003, 2_500, 123_457])
def test_beyond_it_they_are_spread_evenly(tokens: int) -> None:
    chunks = spread_chunks(tokens, most=1_000, size=100)
    assert len(chunks) == 10
    assert 990 <= sum(map(len, chunks)) <= 1_000
    gaps = np.diff([chunk.start for chunk in chunks])
    assert gaps.max() - gaps.min() <= 1
    assert chunks[0].start == 0 and chunks[-1].start + gaps.max() + 1 >= tokens
    assert all(a.stop <= b.start for a, b in pairwise(chunks))
    assert chunks[-1].stop <= tokens
