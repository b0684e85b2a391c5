"""A safetensors file written tensor by tensor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch import Tensor

from greffe.errors import RunError
from greffe.model.tensor_header import read_header
from greffe.model.tensor_writer import write_tensors
from greffe.model.weights import load_tensors, stream_hash, tensors_hash

TENSORS = {
    "a": torch.arange(6.0).reshape(2, 3),
    "b": torch.tensor(3.5),
    "c": torch.ones(4, 5, dtype=torch.float16).t(),
    "d": torch.zeros(0, 7),
}
SHAPES = {name: tuple(tensor.shape) for name, tensor in TENSORS.items()}


def test_the_file_holds_the_tensors_in_single_precision(tmp_path: Path) -> None:
    digest = write_tensors(tmp_path / "w.safetensors", SHAPES, TENSORS.items())
    found = load_tensors(tmp_path / "w.safetensors", digest)  # its hash is checked
    assert found.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert found[name].dtype == torch.float32
        torch.testing.assert_close(found[name], tensor.float())


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[tuple[str, Tensor]]:
        yield "a", TENSORS["a"]
        raise RunError("no more")

    with pytest.raises(RunError, match="no more"):
        write_tensors(tmp_path / "w.safetensors", SHAPES, failing())
    assert not list(tmp_path.iterdir())


def test_a_hash_of_tensors_that_come_one_by_one_is_the_same() -> None:
    assert stream_hash(iter(sorted(TENSORS.items()))) == tensors_hash(TENSORS)


def test_metadata_is_for_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "tensors.safetensors"
    write_tensors(path, {"a": (2,)}, [("a", torch.ones(2))], {"format": "pt"})
    with safe_open(path, "pt") as file:
        assert file.metadata() == {"format": "pt"}
        assert torch.equal(file.get_tensor("a"), torch.ones(2))
    assert read_header(path).shapes == {"a": (2,)}
