"""Graphs compute what torch does: every position scheme, norm, activation, pooler and task."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, get_args

import numpy as np
import onnx
import pytest
import torch

from greffe.config.components import PositionSpec
from greffe.config.families import family_choices, known_families
from greffe.config.sections import Activation, ModelSpec, Pooler
from greffe.errors import RunError
from greffe.interop.export_manifest import Task
from greffe.interop.onnx.graph import OPSET, Graph, quantized
from greffe.interop.onnx.session import Session
from greffe.interop.onnx.task_graphs import (
    GraphOptions,
    classification_graph,
    features_graph,
    next_token_graph,
)
from greffe.interop.onnx.write import check_outputs
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model, build_model
from greffe.model.positions.alibi import AlibiPositions

VOCAB = 50
SMALL: dict[str, Any] = {"width": 24, "layers": 2, "heads": 4, "feed_forward": 40, "context": 12}
POSITIONS = sorted(PositionSpec.registry)
VARIANTS: dict[str, dict[str, Any]] = {
    **{f"{kind} positions": {"position": PositionSpec.of_kind(kind)} for kind in POSITIONS},
    **{f"{activation}": {"activation": activation} for activation in get_args(Activation)},
    "post-norm": {"norm": "post"},
    "rms": {"norm_kind": "rms"},
    "norms without bias": {"norm_bias": False, "linear_bias": False},
    "gated": {"gated": True},
    "shared keys": {"kv_heads": 2},
    "embedding norm": {"embedding_norm": True, "norm": "post"},
    "first norm skipped": {"embedding_norm": True},
    "narrow embedding": {"embedding_width": 16},
    "scaled embedding": {"scale_embedding": True},
    "window": {"window": 2, "global_every": 2, "layers": 3},
    "alibi in a window": {
        "window": 3,
        "global_every": 2,
        "position": PositionSpec.of_kind("alibi"),
    },
    "no layers": {"layers": 0},
}


def make_model(pooler: Pooler = "mean", **changes: Any) -> Model:
    """Return a small model with weights that are far from zero, so that nothing hides in them."""
    heads = {
        "classification": ClassificationHead(classes=3, pooler=pooler),
        "next_token": NextTokenHead(),
    }
    model = build_model(ModelSpec(**{**SMALL, **changes}), VOCAB, heads, seed=1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.add_(noise, alpha=0.3 if parameter.dim() == 1 else 0.1)
    return model.eval()


def write(model: Model, folder: Path, task: Task, *, causal: bool, int8: bool = False) -> Path:
    match task:
        case "classification":
            content = classification_graph(
                model, causal=causal, temperature=1.0, options=GraphOptions(int8=int8)
            )
        case "features":
            content = features_graph(model, causal=causal, options=GraphOptions(int8=int8))
        case "next_token":
            content = next_token_graph(model, GraphOptions(int8=int8))
    path = folder / "model.onnx"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_every_choice_of_a_model(name: str, causal: bool, tmp_path: Path) -> None:
    model = make_model(**VARIANTS[name])
    path = write(model, tmp_path, "classification", causal=causal)
    check_outputs(model, path, "classification", causal=causal)


@pytest.mark.parametrize("family", known_families())
def test_every_family(family: str, tmp_path: Path) -> None:
    model = make_model(**family_choices(family))
    path = write(model, tmp_path, "classification", causal=False)
    check_outputs(model, path, "classification", causal=False)


@pytest.mark.parametrize("embedding_width", [0, 16])
@pytest.mark.parametrize("pooler", get_args(Pooler))
def test_every_pooler(pooler: Pooler, embedding_width: int, tmp_path: Path) -> None:
    model = make_model(pooler, embedding_width=embedding_width)
    path = write(model, tmp_path, "classification", causal=False)
    check_outputs(model, path, "classification", causal=False)


@pytest.mark.parametrize("changes", [{}, {"tied": False}, {"embedding_width": 16}])
def test_the_next_token(changes: dict[str, Any], tmp_path: Path) -> None:
    model = make_model(**changes)
    path = write(model, tmp_path, "next_token", causal=True)
    check_outputs(model, path, "next_token", causal=True)


def test_features_are_those_of_the_linear_model(tmp_path: Path) -> None:
    model = make_model(embedding_width=16)
    path = write(model, tmp_path, "features", causal=False)
    check_outputs(model, path, "features", causal=False)
    ids = np.array([[3, 4, 5, 6]])
    found = Session(path).run("features", {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    with torch.inference_mode():
        embedded = model.base.embedding(torch.from_numpy(ids)).mean(1)
        hidden = model.base(torch.from_numpy(ids), causal=False)
    expected = torch.cat((embedded, hidden.mean(1), hidden[:, -1]), dim=1)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)


def test_a_graph_that_computes_something_else_is_refused(tmp_path: Path) -> None:
    model = make_model()
    path = write(model, tmp_path, "classification", causal=False)
    with torch.no_grad():
        model.base.blocks[0].feed_forward.expand.bias.add_(0.5)
    with pytest.raises(RunError, match="does not compute what the run does"):
        check_outputs(model, path, "classification", causal=False)


def test_a_scheme_that_is_not_relative_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def bias(self: AlibiPositions, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return (queries[:, :, None] * keys[:, None, :])[:, None].float()

    monkeypatch.setattr(AlibiPositions, "bias", bias)
    model = make_model(position=PositionSpec.of_kind("alibi"))
    with pytest.raises(RunError, match="cannot be written to ONNX"):
        classification_graph(model, causal=False, temperature=1.0, options=GraphOptions())


def test_rows_of_a_batch_do_not_see_each_other(tmp_path: Path) -> None:
    model = make_model()
    session = Session(write(model, tmp_path, "classification", causal=False))
    ids = np.array([[3, 4, 5, 1, 1], [6, 7, 8, 9, 10]])
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    both = session.run("logits", {"input_ids": ids, "attention_mask": mask})
    alone = session.run("logits", {"input_ids": ids[:1, :3], "attention_mask": mask[:1, :3]})
    np.testing.assert_allclose(both[:1], alone, atol=1e-5)


def test_probabilities_are_those_of_the_divided_logits(tmp_path: Path) -> None:
    model = make_model()
    content = classification_graph(model, causal=False, temperature=2.5, options=GraphOptions())
    (tmp_path / "model.onnx").write_bytes(content)
    session = Session(tmp_path / "model.onnx")
    inputs = {"input_ids": np.array([[3, 4]]), "attention_mask": np.array([[1, 1]])}
    logits = torch.from_numpy(session.run("logits", inputs))
    expected = (logits / 2.5).softmax(-1).numpy()
    np.testing.assert_allclose(session.run("probabilities", inputs), expected, atol=1e-6)


# --- int8 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pooler", ["mean", "mean+embedding"])
@pytest.mark.parametrize(("task", "causal"), [("classification", False), ("next_token", True)])
def test_int8_is_near_fp32(task: Task, causal: bool, pooler: Pooler, tmp_path: Path) -> None:
    model = make_model(pooler)
    ids = np.array([[3, 4, 5, 6, 7, 8]])
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    exact, near = (
        Session(write(model, tmp_path, task, causal=causal, int8=int8)).run("logits", inputs)
        for int8 in (False, True)
    )
    difference = np.abs(exact - near).max() / np.abs(exact).max()
    assert 0 < difference < 0.05


def test_int8_weights_are_bytes(tmp_path: Path) -> None:
    model = make_model()
    graph = onnx.load(write(model, tmp_path, "next_token", causal=True, int8=True)).graph
    floats = [each for each in graph.initializer if each.data_type == onnx.TensorProto.FLOAT]
    # Biases, scales, norms and positions; the tied table of tokens is there once, as bytes.
    assert max(np.prod(each.dims) for each in floats) <= SMALL["context"] * SMALL["width"]
    tables = [each for each in graph.initializer if list(each.dims) == [VOCAB, SMALL["width"]]]
    assert [each.data_type for each in tables] == [onnx.TensorProto.INT8]


def test_int8_stores_the_embedding_once_for_base_and_head(tmp_path: Path) -> None:
    model = make_model("mean+embedding")
    graph = onnx.load(write(model, tmp_path, "classification", causal=False, int8=True)).graph
    tables = [each for each in graph.initializer if list(each.dims) == [VOCAB, SMALL["width"]]]
    assert [each.data_type for each in tables] == [onnx.TensorProto.INT8]


def test_quantized_rows_use_the_whole_range() -> None:
    rows, scales = quantized(np.array([[1.0, -2.0], [0.0, 0.0], [1e-3, 5e-4]]))
    assert np.abs(rows).max(axis=1).tolist() == [127, 0, 127]
    np.testing.assert_allclose(rows[0] * scales[0], [1.0, -2.0], atol=0.01)


# --- the file -------------------------------------------------------------------------------------


def test_axes_are_dynamic_and_operators_standard(tmp_path: Path) -> None:
    model = onnx.load(write(make_model(), tmp_path, "classification", causal=False, int8=True))
    onnx.checker.check_model(model, full_check=True)
    assert [(each.domain, each.version) for each in model.opset_import] == [("", OPSET)]
    names = [
        [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in itertools.chain(model.graph.input, model.graph.output)
    ]
    assert names == [["batch", "tokens"], ["batch", "tokens"], ["batch", 3], ["batch", 3]]


def test_equal_constants_are_stored_once() -> None:
    graph = Graph()
    table = np.ones((4, 5), np.float32)
    assert graph.constant(table) == graph.constant(table.copy())
    assert graph.constant(table) != graph.constant(table.astype(np.int64))
