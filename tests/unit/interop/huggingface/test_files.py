"""The weights of a folder: safetensors or torch files, whole or in shards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from greffe.errors import CorruptError, InputError
from greffe.interop.huggingface.files import has_weights, open_tensor_files

TENSORS = {
    "a": torch.arange(6.0).reshape(2, 3),
    "b": torch.ones(2, dtype=torch.bfloat16),
    "c": torch.zeros(3, dtype=torch.int64),
}
SHAPES = {"a": (2, 3), "b": (2,), "c": (3,)}


def _write(path: Path, names: str) -> None:
    tensors = {name: TENSORS[name] for name in names}
    if path.suffix == ".bin":
        torch.save(tensors, path)
    else:
        save_file(tensors, path)


def _index(path: Path, shards: dict[str, str]) -> None:
    path.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": shards}))


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_one_file(tmp_path: Path, name: str) -> None:
    assert not has_weights(tmp_path)
    _write(tmp_path / name, "abc")
    assert has_weights(tmp_path)
    found = open_tensor_files(tmp_path)
    assert found.shapes == SHAPES
    assert torch.equal(found.load("a"), TENSORS["a"])
    assert torch.equal(found.load("b"), TENSORS["b"])


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_shards(tmp_path: Path, name: str) -> None:
    stem, suffix = name.rsplit(".", 1)
    shards = [f"{stem}-0000{number}-of-00002.{suffix}" for number in (1, 2)]
    _write(tmp_path / shards[0], "a")
    _write(tmp_path / shards[1], "bc")
    _index(tmp_path / f"{name}.index.json", {"a": shards[0], "b": shards[1], "c": shards[1]})
    found = open_tensor_files(tmp_path)
    assert found.shapes == SHAPES
    assert [file.name for file in found.files] == shards
    assert torch.equal(found.load("b"), TENSORS["b"])


def test_safetensors_come_before_torch_files(tmp_path: Path) -> None:
    _write(tmp_path / "model.safetensors", "a")
    (tmp_path / "pytorch_model.bin").write_bytes(b"never read")
    assert open_tensor_files(tmp_path).shapes == {"a": (2, 3)}


def test_a_folder_without_weights_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "flax_model.msgpack").write_bytes(b"")
    with pytest.raises(InputError, match="has no weights") as caught:
        open_tensor_files(tmp_path)
    assert "flax_model.msgpack" in (caught.value.found or "")


@pytest.mark.parametrize(
    ("shards", "found"),
    [
        ({"a": "model-1.safetensors"}, "missing: model-1.safetensors"),
        ({"a": "../other.safetensors"}, "outside the folder"),
        ({}, "no file names"),
    ],
)
def test_shards_that_are_not_there(tmp_path: Path, shards: dict[str, str], found: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    _write(tmp_path / "other.safetensors", "a")
    _index(folder / "model.safetensors.index.json", shards)
    with pytest.raises(CorruptError, match="shards") as caught:
        open_tensor_files(folder)
    assert found in (caught.value.found or "")


@pytest.mark.parametrize("content", ["[]", '{"weight_map": 3}', "{"])
def test_a_damaged_index_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(content)
    with pytest.raises(CorruptError, match=r"index\.json is damaged"):
        open_tensor_files(tmp_path)


def test_a_truncated_file_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    _write(path, "a")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptError, match="truncated") as caught:
        open_tensor_files(tmp_path)
    assert caught.value.hint == "download or copy the file again"


def test_integers_are_no_weights(tmp_path: Path) -> None:
    _write(tmp_path / "model.safetensors", "c")
    with pytest.raises(CorruptError, match="cannot be used") as caught:
        open_tensor_files(tmp_path).load("c")
    assert "int64" in (caught.value.found or "")
