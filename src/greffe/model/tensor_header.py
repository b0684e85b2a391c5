"""The header of a safetensors file: names, types and shapes, checked before any tensor is read.

A file begins with the length of its header, then the header as JSON, then the tensors.
"""

from __future__ import annotations

import math
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import TypeAdapter, ValidationError, model_validator

from greffe.config.recorded import Count
from greffe.config.spec import Spec
from greffe.errors import CorruptError
from greffe.parsing import ParseError, parse_json
from greffe.storage import first_problem

Shape = tuple[int, ...]
LENGTH_BYTES = 8
LARGEST_HEADER = 1 << 24
"""Bytes: enough for 100,000 tensors."""
_ITEM_BYTES = {
    "F64": 8,
    "F32": 4,
    "F16": 2,
    "BF16": 2,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U8": 1,
    "BOOL": 1,
}
METADATA = "__metadata__"


class _Entry(Spec):
    """One tensor."""

    dtype: Literal["F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"]
    shape: tuple[Count, ...]
    data_offsets: tuple[Count, Count]

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        begin, end = self.data_offsets
        if end - begin != math.prod(self.shape) * _ITEM_BYTES[self.dtype]:
            raise ValueError(f"{end - begin:,} bytes for {self.dtype} of shape {self.shape}")
        return self


_ENTRIES = TypeAdapter(dict[str, _Entry])


@dataclass(frozen=True)
class TensorHeader:
    """What a safetensors file holds."""

    shapes: dict[str, Shape]
    file_bytes: int


def read_header(path: Path) -> TensorHeader:
    """Return the header of a file that is as long as its header says; else a CorruptError."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # reading from a pipe would block
            raise _damaged(path, "not a file")
        with path.open("rb") as file:
            length = int.from_bytes(file.read(LENGTH_BYTES), "little")
            if length > LARGEST_HEADER:
                raise _damaged(path, f"a header of {length:,} bytes")
            header = file.read(length)
    except FileNotFoundError:
        raise CorruptError(
            f"{path} is missing.", expected="a safetensors file", found="no such file"
        ) from None
    except OSError as error:
        raise _damaged(path, str(error)) from None
    entries = _read_entries(path, header)
    tensors = max((entry.data_offsets[1] for entry in entries.values()), default=0)
    size = LENGTH_BYTES + length + tensors
    if status.st_size != size:
        raise _damaged(path, f"{status.st_size:,} bytes, not {size:,} as its header says")
    return TensorHeader({name: entry.shape for name, entry in entries.items()}, size)


def _read_entries(path: Path, header: bytes) -> dict[str, _Entry]:
    try:
        tree: Any = parse_json(header)
        if isinstance(tree, dict):
            tree.pop(METADATA, None)
        return _ENTRIES.validate_python(tree)
    except ParseError as error:
        raise _damaged(path, f"no header: {error}") from None
    except ValidationError as error:
        raise _damaged(path, first_problem(error)) from None


def _damaged(path: Path, found: str) -> CorruptError:
    return CorruptError(
        f"{path} is damaged or truncated.",
        expected="a safetensors file",
        found=found,
        hint="copy the run again, or train it again",
    )
