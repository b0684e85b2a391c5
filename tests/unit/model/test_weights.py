"""Tensors on disk, their hashes, and the transfer from one model to another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec
from greffe.errors import CorruptError, MismatchError
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model, build_model
from greffe.model.positions.alibi import Alibi
from greffe.model.weights import (
    base_hash,
    check_same_architecture,
    load_exact,
    load_tensors,
    load_weights,
    save_tensors,
    tensors_hash,
    transfer,
)

SHAPE = ModelSpec(width=16, layers=2, heads=2, feed_forward=32, context=16)
LANGUAGE: dict[str, HeadSpec] = {"next_token": NextTokenHead(), "masked_token": MaskedTokenHead()}


def make(heads: dict[str, HeadSpec], seed: int = 0, spec: ModelSpec = SHAPE) -> Model:
    return build_model(spec, 300, heads, seed)


def classes(count: int) -> dict[str, HeadSpec]:
    return {"classification": ClassificationHead(classes=count)}


# --- tensors ------------------------------------------------------------------------------------


def test_tensors_survive_exactly(tmp_path: Path) -> None:
    tensors = {
        "odd": torch.tensor([float("nan"), -0.0, float("inf"), 1e-45]),
        "scalar": torch.tensor(3.0),
        "view": torch.arange(12.0).reshape(3, 4).t(),
        "empty": torch.zeros(0, 4),
        "whole": torch.arange(3),
    }
    digest = save_tensors(tmp_path / "w.safetensors", tensors)
    found = load_tensors(tmp_path / "w.safetensors", digest)
    assert list(found) == sorted(tensors) or set(found) == set(tensors)
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype and found[name].shape == tensor.shape
        assert found[name].numpy().tobytes() == tensor.contiguous().numpy().tobytes()


def test_damage_is_found(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    digest = save_tensors(path, {"a": torch.arange(100.0)})
    whole = path.read_bytes()
    for cut in (0, 5, 60, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(CorruptError, match="damaged"):
            load_tensors(path, digest)
        with pytest.raises(CorruptError, match="truncated"):
            load_tensors(path)
    flipped = bytearray(whole)
    flipped[-3] ^= 1
    path.write_bytes(flipped)
    with pytest.raises(CorruptError, match="damaged or was replaced") as caught:
        load_tensors(path, digest)
    assert str(path) in str(caught.value)
    path.unlink()
    with pytest.raises(CorruptError, match="missing"):
        load_tensors(path, digest)


def test_a_pickle_is_no_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    torch.save({"a": torch.ones(2)}, path)
    with pytest.raises(CorruptError, match="damaged"):
        load_tensors(path)


def test_weights_that_do_not_fit_are_not_read(tmp_path: Path) -> None:
    """The file takes no disk space; reading it would take 40 GB."""
    path = tmp_path / "w.safetensors"
    size = 10**10
    entry = {"dtype": "F32", "shape": [size], "data_offsets": [0, 4 * size]}
    header = json.dumps({"base.embedding.weight": entry}).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 4 * size)
    with pytest.raises(MismatchError, match="do not fit"):
        load_weights(path, None, make({}))


def test_whole_numbers_are_no_weights(tmp_path: Path) -> None:
    path, model = tmp_path / "w.safetensors", make({})
    save_tensors(path, model.state_dict())
    assert load_weights(path, None, model).keys() == model.state_dict().keys()
    save_tensors(path, {name: value.long() for name, value in model.state_dict().items()})
    with pytest.raises(CorruptError, match="does not hold weights"):
        load_weights(path, None, model)


def test_hashes_tell_names_shapes_and_values_apart() -> None:
    one = {"a": torch.arange(6.0), "b": torch.zeros(2)}
    assert tensors_hash(one) == tensors_hash(dict(reversed(one.items())))
    others = [
        {"a": torch.arange(6.0).reshape(2, 3), "b": torch.zeros(2)},
        {"a": torch.arange(6.0), "c": torch.zeros(2)},
        {"a": torch.arange(6.0), "b": torch.tensor([0.0, 1e-30])},
        {"a": torch.arange(6.0), "b": torch.zeros(2, dtype=torch.int32)},
        {"a": torch.arange(6.0)},
    ]
    assert len({tensors_hash(tensors) for tensors in [one, *others]}) == 6


def test_the_hash_of_a_base_does_not_see_the_heads() -> None:
    assert base_hash(make(LANGUAGE)) == base_hash(make(classes(2)))
    assert base_hash(make(LANGUAGE)) != base_hash(make(LANGUAGE, seed=1))


# --- transfer -----------------------------------------------------------------------------------


def test_a_classifier_takes_the_base_and_nothing_else() -> None:
    parent, child = make(LANGUAGE, seed=1), make(classes(2), seed=2)
    head = {name: value.clone() for name, value in child.heads.state_dict().items()}
    report = transfer(child, parent.state_dict(), "runs/base", keep_heads=True)
    assert base_hash(child) == base_hash(parent)
    assert all(torch.equal(value, head[name]) for name, value in child.heads.state_dict().items())
    assert report.taken == [name for name in parent.state_dict() if name.startswith("base.")]
    assert report.new == [f"heads.classification.score.{name}" for name in ("weight", "bias")]
    assert all(name.startswith("heads.") for name in report.left) and len(report.left) == 6


def test_the_summary_names_every_group_of_tensors() -> None:
    parent, child = make(LANGUAGE, seed=1), make(classes(2))
    report = transfer(child, parent.state_dict(), "runs/base", keep_heads=True)
    tensors = len(report.taken)
    sentence = report.describe("runs/base")
    assert sentence == (
        f"loaded from runs/base: base ({tensors} tensors); "
        "new: head classification (2 tensors); "
        "not loaded: head masked_token (5 tensors), head next_token (1 tensors)"
    )
    lines = report.describe("runs/base", show_tensors=True).splitlines()
    assert lines[0] == sentence
    assert len(lines) == 1 + len(report.taken) + 2 + 6
    assert "  loaded     base.embedding.weight" in lines
    assert "  new        heads.classification.score.bias" in lines
    assert "  not loaded heads.next_token.bias" in lines


def test_heads_are_loaded_whole() -> None:
    parent, child = make(LANGUAGE, seed=1), make(LANGUAGE, seed=2)
    report = transfer(child, parent.state_dict(), "parent", keep_heads=True)
    assert (report.new, report.left) == ([], [])
    assert tensors_hash(child.state_dict()) == tensors_hash(parent.state_dict())


def test_heads_are_not_loaded_unless_kept() -> None:
    parent, child = make(classes(2), seed=1), make(classes(2), seed=2)
    report = transfer(child, parent.state_dict(), "parent", keep_heads=False)
    assert len(report.new) == len(report.left) == 2
    assert not torch.equal(
        child.state_dict()["heads.classification.score.weight"],
        parent.state_dict()["heads.classification.score.weight"],
    )


@pytest.mark.parametrize("what", ["other shape", "tensor missing", "tensor too many"])
def test_a_head_that_does_not_fit_is_new_as_a_whole(what: str) -> None:
    parent = make(classes(3 if what == "other shape" else 2), seed=1)
    weights = parent.state_dict()
    if what == "tensor missing":
        del weights["heads.classification.score.bias"]
    if what == "tensor too many":
        weights["heads.classification.score.extra"] = torch.ones(1)
    child = make(classes(2), seed=2)
    before = {name: value.clone() for name, value in child.heads.state_dict().items()}
    report = transfer(child, weights, "parent", keep_heads=True)
    assert len(report.new) == 2
    assert all(torch.equal(value, before[name]) for name, value in child.heads.state_dict().items())


@pytest.mark.parametrize(
    ("changes", "tensor"),
    [
        ({"width": 32}, "base.embedding.weight has shape (300, 16), not (300, 32)"),
        ({"layers": 3}, "base.blocks.2.attention.qkv.weight is missing"),
        ({"layers": 1}, "base.blocks.1.attention.qkv.weight is not part of this model"),
        ({"norm": "post"}, "base.final_norm.weight is not part of this model"),
        ({"position": {"kind": "learned"}}, "base.position.weight is missing"),
    ],
)
def test_a_base_of_another_architecture_is_refused_by_name(
    changes: dict[str, object], tensor: str
) -> None:
    child = make(classes(2), spec=ModelSpec(**{**SHAPE.model_dump(), **changes}))
    before = tensors_hash(child.state_dict())
    with pytest.raises(MismatchError, match="do not fit") as caught:
        transfer(child, make(LANGUAGE).state_dict(), "runs/base", keep_heads=True)
    assert tensor in str(caught.value)
    assert tensors_hash(child.state_dict()) == before


def test_another_vocabulary_is_refused() -> None:
    child = build_model(SHAPE, 301, {}, 0)
    with pytest.raises(MismatchError, match="do not fit") as caught:
        transfer(child, make({}).state_dict(), "runs/base", keep_heads=True)
    assert "(300, 16), not (301, 16)" in str(caught.value)


def test_choices_without_a_shape_are_compared_by_name() -> None:
    check_same_architecture(SHAPE, SHAPE.model_copy(update={"dropout": 0.5, "context": 99}), "p")
    for changes in ({"heads": 4}, {"position": Alibi()}, {"activation": "relu"}):
        with pytest.raises(MismatchError, match="another architecture") as caught:
            check_same_architecture(SHAPE, SHAPE.model_copy(update=changes), "runs/base")
        assert f"model.{next(iter(changes))} was" in str(caught.value)


def test_load_exact_wants_every_tensor_and_no_other() -> None:
    source, target = make(LANGUAGE, seed=1), make(LANGUAGE, seed=2)
    load_exact(target, source.state_dict(), "x")
    assert tensors_hash(target.state_dict()) == tensors_hash(source.state_dict())
    with pytest.raises(MismatchError, match="do not fit") as caught:
        load_exact(make(classes(2)), source.state_dict(), "x")
    assert "heads.classification.score.weight is missing" in str(caught.value)
    assert "more" in str(caught.value)
