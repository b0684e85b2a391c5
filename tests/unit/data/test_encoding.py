from __future__ import annotations

from pathlib import Path

import pytest

from greffe.data import encoding
from greffe.data.encoding import Chunk, cut_chunks, encode_documents, write_shards
from greffe.data.scan import Assignment
from greffe.data.shards import TokenSplit
from greffe.data.tokenizer import Tokenizer

TRAIN, VALID, DUPLICATE = Assignment.TRAIN, Assignment.VALID, Assignment.DUPLICATE


def test_documents_go_to_their_split_and_duplicates_nowhere() -> None:
    documents = [("un", TRAIN), ("été", VALID), ("un", DUPLICATE), ("deux", TRAIN)]
    [chunk] = cut_chunks(documents, start=5, shard_bytes=100)
    assert (chunk.train, chunk.valid) == (["un", "deux"], ["été"])
    assert (chunk.train_bytes, chunk.valid_bytes, chunk.read_bytes) == (6, 5, 13)
    assert (chunk.end, chunk.closes) == (9, True)


def test_a_full_shard_closes_and_duplicates_do_not_fill_it() -> None:
    documents = [("aaaa", TRAIN), ("bbbb", DUPLICATE), ("cccc", TRAIN), ("dd", TRAIN)]
    first, second = cut_chunks(documents, start=0, shard_bytes=8)
    assert (first.train, first.end, first.closes) == (["aaaa", "cccc"], 3, True)
    assert (second.train, second.end, second.closes) == (["dd"], 4, True)


def test_chunks_are_smaller_than_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "CHUNK_BYTES", 4)
    chunks = list(cut_chunks([("aaaa", TRAIN)] * 4, start=0, shard_bytes=8))
    # The last chunk is empty: it closes what is open.
    assert [(len(chunk.train), chunk.closes) for chunk in chunks] == [
        *((1, False), (1, True), (1, False), (1, True), (0, True))
    ]


def test_documents_are_wrapped_and_concatenated(tiny_tokenizer: Tokenizer) -> None:
    texts = ["Ce livre", "", "Le film est long."]
    encoded = encode_documents(tiny_tokenizer, texts)
    rows = [tiny_tokenizer.wrap(tiny_tokenizer.encode(text)).tolist() for text in texts]
    assert encoded.tokens.tolist() == [token for row in rows for token in row]
    assert encoded.lengths.tolist() == [len(row) for row in rows]
    nothing = encode_documents(tiny_tokenizer, [])
    assert (len(nothing.tokens), len(nothing.lengths)) == (0, 0)


def test_shards_are_written_group_by_group(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    chunks = [
        Chunk(train=["un livre"], train_bytes=8, closes=False),
        Chunk(train=["un film"], valid=["un roman"], train_bytes=7, valid_bytes=8, closes=True),
        Chunk(closes=True),
    ]
    written = list(write_shards(iter(chunks), tiny_tokenizer, tmp_path, group=3, workers=1))
    assert [(one.train is not None, one.valid is not None) for one in written] == [
        *((False, False), (True, True), (False, False))
    ]
    train, valid = written[1].train, written[1].valid
    assert train is not None and valid is not None
    assert (train.name, train.documents, train.bytes) == ("train-00003", 2, 15)
    split = TokenSplit(
        tmp_path,
        [train],
        tiny_tokenizer.dtype.name,
        pad=tiny_tokenizer.pad,
        vocab=tiny_tokenizer.size,
    )
    texts = [tiny_tokenizer.decode(split.document(number)) for number in range(2)]
    assert texts == ["un livre", "un film"]
    assert sorted(path.stem for path in tmp_path.iterdir()) == [
        *("train-00003", "train-00003", "valid-00003", "valid-00003")
    ]


def test_stopping_early_leaves_no_unfinished_shard(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    chunks = iter([Chunk(train=["un livre"], closes=False), Chunk(train=["deux"], closes=True)])
    writing = write_shards(chunks, tiny_tokenizer, tmp_path, group=0, workers=1)
    next(writing)
    writing.close()
    assert not list(tmp_path.iterdir())
