"""A folder in Hugging Face format: what is in it must fit together before a tensor is read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.foreign_models import save_bert
from torch import Tensor

from greffe.data.foreign_tokenizer_folder import read_foreign_tokenizer
from greffe.errors import CorruptError, GreffeError, InputError, MismatchError, OutOfMemoryError
from greffe.interop.foreign_base import ForeignBase
from greffe.interop.huggingface import files
from greffe.interop.huggingface.folder import read_folder


def _read(folder: Path) -> ForeignBase:
    return read_folder(folder, lambda vocab: read_foreign_tokenizer(folder, vocab))


@pytest.fixture
def folder(tmp_path: Path, tiny_bert: Path) -> Path:
    """A copy of the small BERT, to be changed."""
    return Path(shutil.copytree(tiny_bert, tmp_path / "bert"))


@pytest.fixture
def no_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a tensor is read."""

    def load(self: object, name: str) -> Tensor:
        raise AssertionError(f"{name} was read")

    monkeypatch.setattr(files.TensorFiles, "load", load)


def _configure(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def _error(folder: Path, kind: type[GreffeError], match: str) -> str:
    with pytest.raises(kind, match=match) as caught:
        _read(folder)
    return str(caught.value)


@pytest.mark.usefixtures("no_tensor")
def test_everything_is_known_before_a_tensor_is_read(folder: Path) -> None:
    base = _read(folder)
    assert base.model.family == "bert"
    assert base.model.context == 32
    assert set(base.heads) == {"masked_token", "pooled"}
    assert base.objective == "masked"
    assert base.tokenizer.size == base.vocab
    assert base.folded == {"token types": 2 * 24}


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16, torch.float64])
def test_tensors_are_in_single_precision_and_in_order(folder: Path, precision: Any) -> None:
    path = folder / "model.safetensors"
    save_file({name: tensor.to(precision) for name, tensor in load_file(path).items()}, path)
    found = list(_read(folder).tensors())
    assert [name for name, _ in found] == sorted(name for name, _ in found)
    assert {tensor.dtype for _, tensor in found} == {torch.float32}


def test_a_torch_file_gives_the_same_base(folder: Path) -> None:
    expected = dict(_read(folder).tensors())
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    found = dict(_read(folder).tensors())
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_a_file_without_a_language_model_head(tmp_path: Path, tiny_texts: list[str]) -> None:
    base = _read(save_bert(tmp_path / "bare", tiny_texts, "BertModel"))
    assert set(base.heads) == {"pooled"}


@pytest.mark.usefixtures("no_tensor")
@pytest.mark.parametrize(
    ("missing", "match"),
    [
        ("config.json", "has no config.json"),
        ("model.safetensors", "has no weights"),
        ("tokenizer.json", "has no tokenizer"),
    ],
)
def test_a_folder_without_a_file(folder: Path, missing: str, match: str) -> None:
    (folder / missing).unlink()
    assert missing in _error(folder, InputError, match)


def test_a_slow_tokenizer_only(folder: Path) -> None:
    (folder / "tokenizer.json").rename(folder / "vocab.txt")
    assert "vocab.txt" in _error(folder, InputError, "slow tokenizer only")


@pytest.mark.parametrize("model_type", ["t5", None, 3])
def test_an_unknown_family_is_named_and_the_known_ones_are_listed(
    folder: Path, model_type: object
) -> None:
    _configure(folder, model_type=model_type)
    message = _error(folder, InputError, "a family that greffe does not know")
    assert repr(model_type) in message
    assert "bert, camembert" in message


@pytest.mark.parametrize("content", ["[]", "3", "{", ""])
def test_a_damaged_config(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content)
    _error(folder, CorruptError, r"config\.json is damaged")


@pytest.mark.parametrize(
    "values",
    [
        {"hidden_size": 10**9},
        {"num_attention_heads": 7},
        {"vocab_size": 10**9},
        {"num_hidden_layers": -1},
        {"hidden_size": "24"},
        {"hidden_act": "mish"},
    ],
)
@pytest.mark.usefixtures("no_tensor")
def test_sizes_that_cannot_be_built(folder: Path, values: dict[str, Any]) -> None:
    _configure(folder, **values)
    with pytest.raises(GreffeError, match=r"config\.json"):
        _read(folder)


@pytest.mark.usefixtures("no_tensor")
def test_sizes_that_do_not_fit_into_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused before the weights are even looked for."""
    monkeypatch.setattr("greffe.model.memory.available_memory", lambda: 10**9)
    _configure(folder, hidden_size=16_384, intermediate_size=65_536, num_hidden_layers=100)
    (folder / "model.safetensors").unlink()
    assert "at most 1.0 GB" in _error(folder, OutOfMemoryError, "of memory")


def _tensors(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


@pytest.mark.usefixtures("no_tensor")
def test_tensors_that_are_missing_left_over_or_of_another_shape(folder: Path) -> None:
    path, whole = folder / "model.safetensors", _tensors(folder)
    name = "bert.encoder.layer.1.output.dense.bias"
    save_file({key: value for key, value in whole.items() if key != name}, path)
    assert f"{name} is missing" in _error(folder, MismatchError, "do not fit")
    save_file({**whole, "bert.adapter": torch.zeros(2)}, path)
    assert "bert.adapter is not part" in _error(folder, MismatchError, "do not fit")
    save_file({**whole, name: torch.zeros(25)}, path)
    assert f"{name} (25,)" in _error(folder, MismatchError, "do not fit")


@pytest.mark.usefixtures("no_tensor")
@pytest.mark.parametrize("types", [1, 3, 2**63])
def test_what_is_folded_has_the_size_that_the_config_says(folder: Path, types: int) -> None:
    _configure(folder, type_vocab_size=types)
    assert "token types" in _error(folder, MismatchError, "do not fit")


@pytest.mark.usefixtures("no_tensor")
def test_a_tokenizer_with_more_pieces_than_the_embedding_has_rows(folder: Path) -> None:
    path, whole = folder / "model.safetensors", _tensors(folder)
    names = [
        name for name in whole if "word_embeddings" in name or name.endswith("predictions.bias")
    ]
    for name in names:
        whole[name] = whole[name][:50].clone()
    save_file(whole, path)
    _configure(folder, vocab_size=50)
    assert "50" in _error(folder, GreffeError, "(?i)vocabulary|embedding")
