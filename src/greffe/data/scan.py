"""Scan all documents once and assign each to training or validation, or drop it as a duplicate.

Documents are identified by an 8-byte hash of their text. Hashes are written to bucket files by
their top bits, so that equal documents share a bucket and memory does not grow with the corpus. The
validation split is the unique documents with the smallest hashes, so it does not depend on the
order of documents or files. Assignments are stored in one file, one byte per document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from greffe.config.options import Reading
from greffe.config.recorded import Count
from greffe.config.spec import Spec
from greffe.data.text import read_documents, source_identity
from greffe.errors import DataError
from greffe.progress import Progress, notice, quiet
from greffe.seeding import derive, rng
from greffe.storage import disk_error

BUCKETS = 64
BLOCK_DOCUMENTS = 1 << 16
PROGRESS_BYTES = 1 << 20  # updating a bar for every document would take longer than reading it
ASSIGNMENTS_FILE = "assignments"
PACKED_SUFFIXES = (".gz", ".xz", ".zst", ".parquet")  # file size differs from text size

_RECORD = np.dtype([("hash", "<u8"), ("number", "<i8")])
_Records = npt.NDArray[np.void]
_Assignments = npt.NDArray[np.uint8]


class Assignment(IntEnum):
    """The split that a document is assigned to, if any."""

    TRAIN = 0
    VALID = 1
    DUPLICATE = 2


class SourceCount(Spec):
    """The size of one source."""

    documents: Count
    bytes: Count


class Scan(Spec):
    """The result of a scan; the assignment of each document is in a separate file."""

    sources: list[SourceCount]
    unique: Count
    valid: Count

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        if not self.valid <= self.unique <= self.documents:
            raise ValueError("valid, unique and documents: each is at most the next")
        return self

    @property
    def documents(self) -> int:
        """Documents read, including duplicates."""
        return sum(source.documents for source in self.sources)

    @property
    def bytes(self) -> int:
        """UTF-8 bytes of all documents read."""
        return sum(source.bytes for source in self.sources)


# --- assigning ----------------------------------------------------------------------------------


def scan_documents(
    sources: Sequence[str], options: Reading, folder: Path, *, valid: float, seed: int
) -> Scan:
    """Read all sources once and write the assignment of each document to `folder`."""
    folder.mkdir(exist_ok=True)
    counts = _fill_buckets(sources, options, folder, seed)
    total = sum(count.documents for count in counts)
    if total == 0:
        raise DataError(
            "The input contains no documents.",
            expected="text other than white space",
            found=f"{len(sources)} {'file' if len(sources) == 1 else 'files'} without text",
        )
    try:
        assignments = _disk_array(folder / ASSIGNMENTS_FILE, total)
        unique = sum(_drop_duplicates(records, assignments) for records in _buckets(folder))
        held_out = _hold_out(folder, assignments, _validation_size(unique, valid))
        assignments.flush()
        for path in _bucket_paths(folder):
            path.unlink()
    except OSError as error:
        raise disk_error(error, folder) from error
    return Scan(sources=counts, unique=unique, valid=held_out)


def _fill_buckets(
    sources: Sequence[str], options: Reading, folder: Path, seed: int
) -> list[SourceCount]:
    sizes = [source_identity(source).get("size") for source in sources]
    known = [size for size in sizes if isinstance(size, int)]
    packed = len(known) < len(sizes) or any(name.endswith(PACKED_SUFFIXES) for name in sources)
    salt = derive(seed, "validation").to_bytes(16, "little")
    counts: list[SourceCount] = []
    number = 0
    hashes = bytearray()
    with Progress("scan", None if packed else sum(known), "bytes") as progress:
        for index, source in enumerate(sources):
            first, text_bytes, unreported = number, 0, 0
            for document in read_documents(source, options):
                data = _utf8(document, source, number - first)
                hashes += hashlib.blake2b(data, digest_size=8, salt=salt).digest()
                text_bytes += len(data)
                number += 1
                unreported += len(data)
                if unreported >= PROGRESS_BYTES:
                    progress.advance(unreported)
                    unreported = 0
                if len(hashes) == 8 * BLOCK_DOCUMENTS:
                    _write_records(hashes, number, folder)
                    hashes.clear()
            counts.append(SourceCount(documents=number - first, bytes=text_bytes))
            # file sizes include line endings and the other columns of tables
            progress.set(progress.done + unreported if packed else sum(known[: index + 1]))
    _write_records(hashes, number, folder)
    return counts


def _utf8(document: str, source: str, number: int) -> bytes:
    try:
        return document.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{source}: document {number + 1} contains a lone surrogate.",
            expected="characters that UTF-8 can encode",
            found=f"U+{ord(document[error.start]):04X} at character {error.start + 1}",
            hint=r"look for \ud800 to \udfff escapes in the source",
        ) from None


def _write_records(hashes: bytearray, end: int, folder: Path) -> None:
    """Append the hashes of the documents before number `end` to their buckets, in order."""
    records = np.empty(len(hashes) // 8, _RECORD)
    records["hash"] = np.frombuffer(bytes(hashes), "<u8")
    records["number"] = np.arange(end - len(records), end)
    buckets = records["hash"] // np.uint64(2**64 // BUCKETS)
    order = np.argsort(buckets, kind="stable")
    edges = np.searchsorted(buckets[order], np.arange(BUCKETS + 1, dtype=np.uint64))
    for bucket, path in enumerate(_bucket_paths(folder)):
        chosen = order[edges[bucket] : edges[bucket + 1]]
        try:
            with path.open("ab") as file:
                file.write(records[chosen].tobytes())
        except OSError as error:
            raise disk_error(error, path) from error


def _bucket_paths(folder: Path) -> list[Path]:
    return [folder / f"bucket-{bucket:02}" for bucket in range(BUCKETS)]


def _buckets(folder: Path) -> Iterator[_Records]:
    """Yield the records of each bucket; hashes increase within and across buckets."""
    for path in _bucket_paths(folder):
        records = np.fromfile(path, _RECORD)
        # stable: among equal hashes the first document stays first
        yield records[np.argsort(records["hash"], kind="stable")]


def _disk_array(path: Path, size: int) -> np.memmap[tuple[int, ...], np.dtype[np.uint8]]:
    """Map a file of zeros; written out, since a sparse file would crash on a full disk."""
    with path.open("wb") as file:
        for start in range(0, size, BLOCK_DOCUMENTS):
            file.write(bytes(min(BLOCK_DOCUMENTS, size - start)))
    return np.memmap(path, np.uint8, "r+")


def _drop_duplicates(records: _Records, assignments: _Assignments) -> int:
    """Mark all but the first of equal documents; return the number of unique ones."""
    repeats = np.flatnonzero(records["hash"][1:] == records["hash"][:-1]) + 1
    assignments[records["number"][repeats]] = Assignment.DUPLICATE
    return len(records) - len(repeats)


def _validation_size(unique: int, valid: float) -> int:
    if valid == 0:
        return 0
    if unique < 2:
        notice(
            "The input is a single document, so nothing is held out for validation; "
            "--documents paragraph or line may split it."
        )
        return 0
    return min(max(1, round(valid * unique)), unique - 1)


def _hold_out(folder: Path, assignments: _Assignments, size: int) -> int:
    """Assign the unique documents with the smallest hashes to validation; return how many."""
    left = size
    for records in _buckets(folder):
        numbers = records["number"]
        chosen = numbers[assignments[numbers] != Assignment.DUPLICATE][:left]
        assignments[chosen] = Assignment.VALID
        left -= len(chosen)
        if left == 0:
            break
    return size


# --- reading again ------------------------------------------------------------------------------


def read_again(
    sources: Sequence[str], options: Reading, scan: Scan, folder: Path, start: int = 0
) -> Iterator[tuple[str, int]]:
    """Yield each document from number `start` with its assignment; skips earlier sources."""
    with (folder / ASSIGNMENTS_FILE).open("rb") as assignments:
        for source, count in zip(sources, scan.sources, strict=True):
            if start >= count.documents:
                start -= count.documents
                assignments.seek(count.documents, 1)
                continue
            number = 0
            for number, document in enumerate(_quietly(read_documents(source, options)), start=1):
                assignment = assignments.read(1)
                if number > count.documents or not assignment:
                    break
                if number > start:
                    yield document, assignment[0]
            if number != count.documents:
                raise DataError(
                    f"{source} changed while it was being read.",
                    expected=f"{count.documents:,} documents, as in the first pass",
                    found=f"{'more' if number > count.documents else f'{number:,}'}",
                    hint="start again with --overwrite once the file is complete",
                )
            start = 0


def _quietly(documents: Iterator[str]) -> Iterator[str]:
    """Suppress notices, which were already printed in the first pass."""
    while True:
        with quiet():
            document = next(documents, None)
        if document is None:
            return
        yield document


def read_sample(
    sources: Sequence[str], options: Reading, scan: Scan, folder: Path, *, size: int, seed: int
) -> Iterator[str]:
    """Yield training documents of about `size` bytes in total, sampled from the whole corpus."""
    fraction = size / scan.bytes
    generator = rng(seed, "tokenizer sample")
    draws: list[float] = []
    taken = 0
    for document, assignment in read_again(sources, options, scan, folder):
        draws = draws or generator.random(BLOCK_DOCUMENTS).tolist()
        if draws.pop() < fraction and assignment == Assignment.TRAIN:
            taken += len(document.encode())
            if taken > size:
                return
            yield document
