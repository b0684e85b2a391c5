"""Encode documents into token shards with several processes, in input order.

Documents are grouped into chunks of about a megabyte of text; chunks are encoded in parallel and
written in order. A group of chunks becomes one shard of each split. Its boundaries depend only on
the text: neither the number of processes nor an interruption changes a byte.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from greffe.data.processes import map_in_order
from greffe.data.scan import Assignment
from greffe.data.shard_writer import ShardWriter
from greffe.data.shards import Int64s, ShardInfo, Tokens
from greffe.data.tokenizer import Tokenizer

CHUNK_BYTES = 1 << 20


@dataclass
class Chunk:
    """Documents that are encoded together."""

    train: list[str] = field(default_factory=list)
    valid: list[str] = field(default_factory=list)
    train_bytes: int = 0
    valid_bytes: int = 0
    read_bytes: int = 0
    """UTF-8 bytes of the documents read, including duplicates."""
    end: int = 0
    """Number of the first document after it."""
    closes: bool = False
    """Whether the shards end with this chunk."""


class Encoded(NamedTuple):
    """Documents as tokens."""

    tokens: Tokens
    """[sum of lengths] <sos> ids <eos> of each document, back to back."""
    lengths: Int64s
    """[documents]"""


@dataclass(frozen=True)
class Written:
    """A chunk that is on disk, and the shards that it completed, if any."""

    chunk: Chunk
    train: ShardInfo | None = None
    valid: ShardInfo | None = None


# --- chunks -------------------------------------------------------------------------------------


def cut_chunks(
    documents: Iterable[tuple[str, int]], start: int, shard_bytes: int
) -> Iterator[Chunk]:
    """Group documents, numbered from `start`, into chunks; duplicates are left out."""
    chunk, end, group_bytes = Chunk(), start, 0
    for document, assignment in documents:
        end += 1
        size = len(document.encode())
        chunk.read_bytes += size
        if assignment == Assignment.TRAIN:
            chunk.train.append(document)
            chunk.train_bytes += size
        elif assignment == Assignment.VALID:
            chunk.valid.append(document)
            chunk.valid_bytes += size
        if assignment != Assignment.DUPLICATE:
            group_bytes += size
        chunk.closes = group_bytes >= shard_bytes
        if chunk.closes or chunk.read_bytes >= CHUNK_BYTES:
            chunk.end = end
            group_bytes = 0 if chunk.closes else group_bytes
            yield chunk
            chunk = Chunk()
    chunk.end, chunk.closes = end, True
    yield chunk


def encode_documents(tokenizer: Tokenizer, documents: Sequence[str]) -> Encoded:
    """Encode documents, each between <sos> and <eos>."""
    sos = np.array([tokenizer.sos], tokenizer.dtype)
    eos = np.array([tokenizer.eos], tokenizer.dtype)
    encoded = tokenizer.encode_batch(documents) if documents else []
    pieces = [piece for ids in encoded for piece in (sos, ids, eos)]
    lengths = np.array([len(ids) + 2 for ids in encoded], np.int64)
    return Encoded(np.concatenate(pieces) if pieces else sos[:0], lengths)


# --- processes ----------------------------------------------------------------------------------


def _encode_chunk(tokenizer: Tokenizer, chunk: Chunk) -> tuple[Encoded, Encoded]:
    return encode_documents(tokenizer, chunk.train), encode_documents(tokenizer, chunk.valid)


def encode_chunks(
    chunks: Iterator[Chunk], tokenizer: Tokenizer, workers: int
) -> Generator[tuple[Chunk, tuple[Encoded, Encoded]]]:
    """Yield each chunk with its encoded training and validation documents, in order."""
    return map_in_order(
        _encode_chunk,
        tokenizer,
        chunks,
        workers,
        hint="finished shards are kept: continue with --resume, with fewer --workers if it recurs",
    )


# --- shards -------------------------------------------------------------------------------------


def write_shards(
    chunks: Iterator[Chunk],
    tokenizer: Tokenizer,
    folder: Path,
    group: int,
    workers: int,
) -> Generator[Written]:
    """Encode and write shards, numbered from `group`; unfinished ones are removed on exit."""
    writers: dict[str, ShardWriter] = {}
    try:
        with closing(encode_chunks(chunks, tokenizer, workers)) as encoded_chunks:
            for chunk, (train, valid) in encoded_chunks:
                for split, encoded, size in (
                    ("train", train, chunk.train_bytes),
                    ("valid", valid, chunk.valid_bytes),
                ):
                    if len(encoded.lengths):
                        if split not in writers:
                            name = f"{split}-{group:05}"
                            writers[split] = ShardWriter(folder, name, tokenizer.dtype.name)
                        writers[split].add(encoded.tokens, encoded.lengths, size)
                if not chunk.closes:
                    yield Written(chunk)
                    continue
                finished = {split: writer.close() for split, writer in writers.items()}
                writers.clear()
                group += 1
                yield Written(chunk, finished.get("train"), finished.get("valid"))
    finally:
        for writer in writers.values():
            writer.discard()
