"""Files of torch.save: plain tensors are read, anything else is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from greffe.errors import CorruptError
from greffe.interop.pickled_tensors import read_pickled

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.zeros(2, dtype=torch.int64)}


class Marker:
    """What runs if it is unpickled."""

    path = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "w")


@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_are_read(tmp_path: Path, zipped: bool) -> None:
    torch.save(TENSORS, tmp_path / "w.bin", _use_new_zipfile_serialization=zipped)
    found = read_pickled(tmp_path / "w.bin")
    assert found.keys() == TENSORS.keys()
    assert all(torch.equal(found[name], TENSORS[name]) for name in TENSORS)


@pytest.mark.parametrize("zipped", [True, False])
def test_code_is_refused_and_not_run(tmp_path: Path, zipped: bool) -> None:
    marker = Marker()
    marker.path = str(tmp_path / "ran")
    torch.save({"a": marker}, tmp_path / "w.bin", _use_new_zipfile_serialization=zipped)
    with pytest.raises(CorruptError, match="not a file of plain tensors") as caught:
        read_pickled(tmp_path / "w.bin")
    assert "open" in (caught.value.found or "")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [[1, 2], {"a": 3}, {1: TENSORS["a"]}, {"a": {"b": 1}}])
def test_other_plain_values_are_refused(tmp_path: Path, content: object) -> None:
    torch.save(content, tmp_path / "w.bin")
    with pytest.raises(CorruptError, match="not a file of plain tensors"):
        read_pickled(tmp_path / "w.bin")


@pytest.mark.parametrize("damage", ["cut", "text", "empty"])
def test_a_damaged_file_is_an_error(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "w.bin"
    torch.save(TENSORS, path)
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "text": b"version", "empty": b""}[damage])
    with pytest.raises(CorruptError, match=r"w\.bin"):
        read_pickled(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorruptError, match="is missing"):
        read_pickled(tmp_path / "w.bin")
