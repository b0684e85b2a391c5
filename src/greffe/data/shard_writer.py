"""Write token shards: two files each, atomically, hashed while writing."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from greffe.data.shards import (
    OFFSET_DTYPE,
    Int64s,
    ShardInfo,
    Tokens,
    offsets_path,
    token_dtype,
    tokens_path,
)
from greffe.storage import disk_error, sync_folder, temporary_path


class _HashedFile:
    """A file with a temporary name until finished, hashed while writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.temporary = temporary_path(path)
        self._hash = hashlib.sha256()
        try:
            self._file = self.temporary.open("wb")
        except OSError as error:
            raise disk_error(error, path) from error

    def write(self, values: npt.NDArray[Any]) -> None:
        data = values.tobytes()
        self._hash.update(data)
        try:
            self._file.write(data)
        except OSError as error:
            raise disk_error(error, self.path) from error

    def finish(self) -> str:
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self.temporary.replace(self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            raise disk_error(error, self.path) from error
        return self._hash.hexdigest()

    def discard(self) -> None:
        # close without flushing: on a full disk, flushing the buffer would raise again
        self._file.raw.close()
        self.temporary.unlink(missing_ok=True)


class ShardWriter:
    """Write one shard; its files get their final names when it is closed."""

    def __init__(self, folder: Path, name: str, dtype: str) -> None:
        self.name = name
        self.tokens = 0
        self.documents = 0
        self.bytes = 0
        self._dtype = token_dtype(dtype)
        self._tokens = _HashedFile(tokens_path(folder, name))
        self._offsets = _HashedFile(offsets_path(folder, name))
        self._offsets.write(np.zeros(1, OFFSET_DTYPE))

    def add(self, tokens: Tokens, lengths: Int64s, text_bytes: int) -> None:
        """Add documents, concatenated in `tokens` [sum of lengths]."""
        assert int(lengths.sum()) == len(tokens)
        ends = self.tokens + np.cumsum(lengths, dtype=np.int64)
        self._tokens.write(tokens.astype(self._dtype, copy=False))
        self._offsets.write(ends.astype(OFFSET_DTYPE, copy=False))
        self.tokens += len(tokens)
        self.documents += len(lengths)
        self.bytes += text_bytes

    def close(self) -> ShardInfo:
        """Rename the files to their final names and return their description."""
        return ShardInfo(
            name=self.name,
            tokens=self.tokens,
            documents=self.documents,
            bytes=self.bytes,
            tokens_sha256=self._tokens.finish(),
            offsets_sha256=self._offsets.finish(),
        )

    def discard(self) -> None:
        """Remove the unfinished files."""
        self._tokens.discard()
        self._offsets.discard()
