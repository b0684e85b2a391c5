"""Headers of safetensors files: read without the tensors, and never trusted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from greffe.errors import CorruptError
from greffe.model.tensor_header import LARGEST_HEADER, read_header
from greffe.model.weights import save_tensors

GOOD = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}


def write(path: Path, header: Any, data: bytes = bytes(24)) -> Path:
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(encoded).to_bytes(8, "little") + encoded + data)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "w.safetensors"


def test_a_header_is_what_was_saved(path: Path) -> None:
    save_tensors(path, {"a": torch.zeros(2, 3), "b": torch.zeros(()), "c": torch.zeros(0, 4)})
    header = read_header(path)
    assert header.shapes == {"a": (2, 3), "b": (), "c": (0, 4)}
    assert header.file_bytes == path.stat().st_size


def test_metadata_of_any_kind_is_no_tensor(path: Path) -> None:
    for metadata in ({"format": "pt"}, {}, [1], None):
        write(path, {"__metadata__": metadata, **GOOD})
        assert read_header(path).shapes == {"a": (2, 3)}


@pytest.mark.parametrize(
    "header",
    [
        *(b"", b"{", b"\xff\xfe", b"[" * 10**5, b"[]", b"1", b"null"),
        *({"a": 1}, {"a": {}}, {"a": None}),
        {"a": GOOD["a"] | {"shape": [3, 3]}},
        {"a": GOOD["a"] | {"shape": [-2, -3]}},
        {"a": GOOD["a"] | {"shape": [10**18, 10**18]}},
        {"a": GOOD["a"] | {"shape": "2,3"}},
        {"a": GOOD["a"] | {"dtype": "F8_E4M3"}},
        {"a": GOOD["a"] | {"dtype": 32}},
        {"a": GOOD["a"] | {"data_offsets": [24, 0]}},
        {"a": GOOD["a"] | {"data_offsets": [24, 48]}},
        {"a": GOOD["a"] | {"data_offsets": [10**11, 10**11 + 24]}},
    ],
)
def test_a_damaged_header(path: Path, header: Any) -> None:
    with pytest.raises(CorruptError, match="damaged or truncated"):
        read_header(write(path, header))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 30])
def test_a_file_that_ends_early(path: Path, size: int) -> None:
    write(path, GOOD)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CorruptError, match="damaged or truncated"):
        read_header(path)


def test_a_length_beyond_all_bounds_is_not_read(path: Path) -> None:
    with path.open("wb") as file:
        file.write((LARGEST_HEADER + 1).to_bytes(8, "little"))
        file.truncate(10**11)  # takes no disk space
    with pytest.raises(CorruptError, match="damaged or truncated") as caught:
        read_header(path)
    assert "header of" in str(caught.value)


def test_what_is_no_file(path: Path) -> None:
    with pytest.raises(CorruptError, match="missing"):
        read_header(path)
    path.mkdir()
    with pytest.raises(CorruptError, match="damaged"):
        read_header(path)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(CorruptError, match="damaged"):
        read_header(path)
