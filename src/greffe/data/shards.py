"""Token shards: documents as raw integers on disk, and packed rows read by memory mapping.

A shard is two files: `NAME.tokens`, the concatenated ids of its documents, and `NAME.offsets`, the
start of each document (int64, with the number of tokens as an additional last entry). All integers
are little-endian.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from greffe.config.recorded import LARGEST_COUNT, Count, FileName
from greffe.config.spec import Spec
from greffe.errors import CorruptError

Tokens = npt.NDArray[np.unsignedinteger[Any]]
Int64s = npt.NDArray[np.int64]

OFFSET_DTYPE = np.dtype("<i8")
MAPPED_SHARDS = 128  # each mapped shard holds two file descriptors; the usual limit is 1024
RESIDENT_BYTES = 32 << 20  # mapped pages that may stay in memory before all are released
FAULT_BYTES = 2 << 20  # memory that one small read may make resident: the kernel maps whole folios


class ShardInfo(Spec):
    """The sizes and hashes of a shard."""

    name: FileName
    tokens: int = Field(ge=1, le=LARGEST_COUNT)
    documents: int = Field(ge=1, le=LARGEST_COUNT)
    bytes: Count
    """UTF-8 bytes of the text behind the tokens."""
    tokens_sha256: str
    offsets_sha256: str


def token_dtype(name: str) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the on-disk dtype for `uint16` or `uint32`."""
    return np.dtype(name).newbyteorder("<")


def tokens_path(folder: Path, name: str) -> Path:
    """Return the path of a shard's tokens."""
    return folder / f"{name}.tokens"


def offsets_path(folder: Path, name: str) -> Path:
    """Return the path of a shard's offsets."""
    return folder / f"{name}.offsets"


# --- reading ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PackedRows:
    """B rows of T consecutive tokens of a split, with document boundaries."""

    ids: Int64s
    """[B, T] token ids; padding after the end of the split."""
    lengths: Int64s
    """[B] tokens without padding; T for all rows but the last one of the split."""
    documents: Int64s
    """[B, T] index of the document within its row; padding counts as one more document."""
    positions: Int64s
    """[B, T] position relative to the document's first token in this row."""
    first_document: Int64s
    """[B] index within the split of the document at the start of the row."""


class _MappedShard:
    """Both files of a shard, unmapped when the last reference is gone."""

    def __init__(self, folder: Path, info: ShardInfo, dtype: np.dtype[Any]) -> None:
        check_shard(folder, info, dtype.name)
        self.path = tokens_path(folder, info.name)
        offsets = offsets_path(folder, info.name)
        self._maps = [_map_file(self.path), _map_file(offsets)]
        self.tokens: Tokens = np.frombuffer(self._maps[0], dtype)
        self.offsets: Int64s = np.frombuffer(self._maps[1], OFFSET_DTYPE)
        if (np.diff(self.offsets) < 0).any():
            raise _damaged(offsets, "offsets in ascending order", "a document that ends early")

    def release(self) -> None:
        """Release resident pages; the system's page cache keeps them."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in self._maps:
                mapped.madvise(mmap.MADV_DONTNEED)


def _map_file(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # ValueError: the file is empty
        raise _damaged(path, "a shard's file", str(error)) from None


def _damaged(path: Path, expected: str, found: str) -> CorruptError:
    return CorruptError(
        f"{path} is damaged.",
        expected=expected,
        found=found,
        hint="prepare the corpus again with --overwrite",
    )


def _last_start(starts: Int64s, position: int) -> int:
    """Return the index of the last of the sorted `starts` that is not after `position`."""
    return int(np.searchsorted(starts, position, side="right")) - 1


def check_shard(folder: Path, info: ShardInfo, dtype: str) -> None:
    """Raise CorruptError unless both files exist and have the sizes given by `info`."""
    sizes = {
        tokens_path(folder, info.name): info.tokens * token_dtype(dtype).itemsize,
        offsets_path(folder, info.name): (info.documents + 1) * OFFSET_DTYPE.itemsize,
    }
    for path, size in sizes.items():
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            raise CorruptError(
                f"{path} is {'missing' if found is None else 'truncated or damaged'}.",
                expected=f"{size:,} bytes",
                found="no such file" if found is None else f"{found:,} bytes",
                hint="prepare the corpus again with --overwrite",
            )
    offsets = np.frombuffer(_map_file(offsets_path(folder, info.name)), OFFSET_DTYPE)
    first, last = int(offsets[0]), int(offsets[-1])
    if (first, last) != (0, info.tokens):
        raise _damaged(
            offsets_path(folder, info.name),
            f"offsets from 0 to {info.tokens:,}",
            f"offsets from {first:,} to {last:,}",
        )


class TokenSplit:
    """All shards of one split as a single sequence of tokens, read by memory mapping.

    Resident memory stays bounded: pages are released after about RESIDENT_BYTES were touched.
    """

    def __init__(
        self, folder: Path, shards: Sequence[ShardInfo], dtype: str, *, pad: int, vocab: int
    ) -> None:
        self.shards = tuple(shards)
        self.pad = pad
        self.vocab = vocab
        self.tokens = sum(shard.tokens for shard in shards)
        self.documents = sum(shard.documents for shard in shards)
        self.bytes = sum(shard.bytes for shard in shards)
        self._folder = folder
        self._dtype = token_dtype(dtype)
        # [shards + 1] first token and first document of each shard within the split
        self._token_starts = np.cumsum([0, *(shard.tokens for shard in shards)])
        self._document_starts = np.cumsum([0, *(shard.documents for shard in shards)])
        self._mapped: dict[int, _MappedShard] = {}
        self._touched = 0

    def __repr__(self) -> str:
        return f"TokenSplit({self.tokens:,} tokens, {self.documents:,} documents)"

    def rows_total(self, length: int) -> int:
        """Return the number of rows of `length` tokens; the last one may be shorter."""
        return -(-self.tokens // length)

    def rows(self, indices: npt.NDArray[np.integer[Any]], length: int) -> PackedRows:
        """Return rows by index: row i starts at token i·length, across documents and shards."""
        if length < 1:
            raise ValueError(f"rows must have at least one token, not {length}")
        ids = np.full((len(indices), length), self.pad, np.int64)
        starts = np.zeros((len(indices), length), np.bool_)  # [B, T] a document begins here
        lengths = np.zeros(len(indices), np.int64)
        first_document = np.zeros(len(indices), np.int64)
        for row, index in enumerate(indices.tolist()):
            if not 0 <= index < self.rows_total(length):
                raise IndexError(f"row {index} is out of range for {self.rows_total(length)} rows")
            lengths[row] = self._fill(index * length, ids[row], starts[row])
            first_document[row] = self._document_at(index * length)
            starts[row, lengths[row] :][:1] = True
        starts[:, 0] = True
        columns = np.arange(length)
        begins = np.maximum.accumulate(np.where(starts, columns, 0), axis=1)  # [B, T]
        documents = np.cumsum(starts, axis=1) - 1
        return PackedRows(ids, lengths, documents, columns - begins, first_document)

    def document(self, number: int) -> Int64s:
        """Return the ids of one document, from <sos> to <eos>."""
        if not 0 <= number < self.documents:
            raise IndexError(f"document {number} is out of range for {self.documents} documents")
        index = _last_start(self._document_starts, number)
        shard = self._shard(index)
        local = number - int(self._document_starts[index])
        begin, end = shard.offsets[local : local + 2].tolist()
        ids = shard.tokens[begin:end].astype(np.int64)
        self._check_ids(shard, ids)
        self._touch(shard, ids.size)
        return ids

    def span(self, begin: int, end: int) -> tuple[Int64s, Int64s]:
        """Return the tokens from `begin` up to `end`, and the index of each token's document."""
        if not 0 <= begin <= end <= self.tokens:
            raise IndexError(f"tokens {begin} to {end} are out of range for {self.tokens} tokens")
        ids = np.empty(end - begin, np.int64)
        starts = np.zeros(end - begin, np.bool_)
        self._fill(begin, ids, starts)
        starts[:1] = False
        return ids, np.cumsum(starts)

    def _fill(self, begin: int, ids: Int64s, starts: npt.NDArray[np.bool_]) -> int:
        """Copy tokens from `begin` into `ids` [T] and mark document starts; return their number."""
        count = min(len(ids), self.tokens - begin)
        done = 0
        while done < count:
            index = _last_start(self._token_starts, begin + done)
            shard = self._shard(index)
            low = begin + done - int(self._token_starts[index])
            high = min(low + count - done, len(shard.tokens))
            ids[done : done + high - low] = shard.tokens[low:high]
            first, last = np.searchsorted(shard.offsets, (low, high))
            starts[shard.offsets[first:last] - low + done] = True
            self._check_ids(shard, ids[done : done + high - low])
            done += high - low
            self._touch(shard, high - low)
        return count

    def _document_at(self, token: int) -> int:
        """Return the index within the split of the document that contains a token."""
        index = _last_start(self._token_starts, token)
        local = _last_start(self._shard(index).offsets, token - int(self._token_starts[index]))
        return int(self._document_starts[index]) + local

    def _shard(self, index: int) -> _MappedShard:
        shard = self._mapped.get(index)
        if shard is None:
            if len(self._mapped) >= MAPPED_SHARDS:
                self._mapped.clear()
            shard = _MappedShard(self._folder, self.shards[index], self._dtype)
            self._mapped[index] = shard
        return shard

    def _check_ids(self, shard: _MappedShard, ids: Int64s) -> None:
        """Check what was read: an id outside the vocabulary has no embedding."""
        if ids.size and (largest := int(ids.max())) >= self.vocab:
            raise _damaged(shard.path, f"token ids below {self.vocab:,}", f"{largest:,}")

    def _touch(self, shard: _MappedShard, tokens: int) -> None:
        # a binary search touches pages all over the offsets
        self._touched += tokens * self._dtype.itemsize + FAULT_BYTES + shard.offsets.nbytes
        if self._touched > RESIDENT_BYTES:
            for mapped in list(self._mapped.values()):
                mapped.release()
            self._touched = 0
