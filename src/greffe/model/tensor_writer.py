"""A safetensors file written tensor by tensor: weights larger than half the memory can be copied.

All tensors are in single precision. The file is complete or not there at all.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from torch import Tensor

from greffe.model.tensor_header import LENGTH_BYTES, METADATA, Shape
from greffe.parsing import format_json
from greffe.storage import atomic_file

ITEM_BYTES = 4


def write_tensors(
    path: Path,
    shapes: Mapping[str, Shape],
    tensors: Iterable[tuple[str, Tensor]],
    metadata: Mapping[str, str] | None = None,
) -> str:
    """Write tensors, which come in the order of `shapes`; return the file's SHA-256.

    metadata: texts for other programs that read the file.
    """
    digest = hashlib.sha256()
    with atomic_file(path) as file:
        header = _header(shapes, metadata)
        file.write(header)
        digest.update(header)
        for (name, tensor), expected in zip(tensors, shapes, strict=True):
            assert name == expected and tuple(tensor.shape) == shapes[name], name
            data = tensor.detach().float().contiguous().numpy().tobytes()
            file.write(data)
            digest.update(data)
    return digest.hexdigest()


def _header(shapes: Mapping[str, Shape], metadata: Mapping[str, str] | None) -> bytes:
    """Return the length of the header and the header; tensors follow each other without gaps."""
    entries: dict[str, object] = {} if metadata is None else {METADATA: dict(metadata)}
    begin = 0
    for name, shape in shapes.items():
        end = begin + ITEM_BYTES * math.prod(shape)
        entries[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
        begin = end
    text = format_json(entries).encode()
    text += b" " * (-len(text) % LENGTH_BYTES)  # tensors begin at a multiple of 8 bytes
    return len(text).to_bytes(LENGTH_BYTES, "little") + text
