"""A base as part of an ONNX graph: the same layers as `model.base`, without what training needs.

What positions do is written as tables, computed by the position scheme itself: a new scheme needs
no code here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from greffe.errors import RunError
from greffe.interop.onnx.graph import Graph, Value
from greffe.kernels.linear import Norm
from greffe.model.adapters import BlockLinear
from greffe.model.base import Base
from greffe.model.layers import Block, FeedForward
from greffe.model.model import Model
from greffe.model.positions.scheme import PositionScheme, default_positions

FORBIDDEN = -1e9
"""Added to the scores of what a token may not attend to; -inf makes NaN of a row of padding."""


@dataclass(frozen=True)
class Rows:
    """What is known of the rows of a batch, for all layers."""

    ids: Value
    """[B, T]"""
    mask: Value
    """[B, T], 1 for real tokens, 0 for padding."""
    count: Value
    """T, as a scalar."""
    positions: Value
    """0 … T - 1."""


@dataclass(frozen=True)
class View:
    """What the blocks of one kind add to their scores, and how they rotate queries and keys."""

    added: Value | None
    """[B or 1, heads or 1, T or 1, T]"""
    rotation: Mapping[int, tuple[Value, Value]] | None
    """Cosines and sines [T, heads · head width / 2] for numbers of heads."""


def read_rows(graph: Graph) -> Rows:
    """Declare the inputs of a graph that reads tokens."""
    ids = graph.input("input_ids", "int64", ("batch", "tokens"))
    mask = graph.input("attention_mask", "int64", ("batch", "tokens"))
    count = graph.add("Gather", graph.add("Shape", ids), graph.index(1))
    positions = graph.add("Range", graph.index(0), count, graph.index(1))
    return Rows(ids, mask, count, positions)


def add_base(graph: Graph, model: Model, rows: Rows, *, causal: bool) -> Value:
    """Add the nodes of a base; return the hidden states [B, T, width]."""
    base = model.base
    x = _embed(graph, base, rows, model.spec.context)
    views = _views(graph, base, rows, model.spec.context, causal=causal)
    for block in base.blocks:
        assert isinstance(block, Block)
        x = _add_block(graph, block, x, views[block.is_local])
    return x if base.final_norm is None else add_norm(graph, x, base.final_norm)


def array(tensor: Tensor) -> np.ndarray:
    """Return a tensor as fp32 numbers of numpy."""
    numbers: np.ndarray = tensor.detach().float().cpu().numpy()
    return numbers


# --- embedding and positions ----------------------------------------------------------------------


def _embed(graph: Graph, base: Base, rows: Rows, context: int) -> Value:
    x = graph.lookup(array(base.embedding.weight), rows.ids)
    if base.embedding_scale != 1.0:
        x = graph.add("Mul", x, graph.number(base.embedding_scale))
    added = _added_to_embedding(base, context)
    if added is not None:
        x = graph.add("Add", x, graph.add("Gather", graph.constant(added), rows.positions))
    if base.embedding_norm is not None:
        x = add_norm(graph, x, base.embedding_norm)
    if base.embedding_projection is not None:
        x = add_linear(graph, x, base.embedding_projection)
    return x


@torch.inference_mode()
def _added_to_embedding(base: Base, context: int) -> np.ndarray | None:
    """Return what the scheme adds to the vectors at each position [context, width], if anything."""
    positions = default_positions(context, device=torch.device("cpu"))
    table = base.position.embed(torch.zeros(1, context, base.embedding.embedding_dim), positions)
    return array(table[0]) if table.any() else None


def _views(graph: Graph, base: Base, rows: Rows, context: int, *, causal: bool) -> list[View]:
    """Return what blocks without a window see, then those with one, if there are any."""
    # Distances [T, T] from each query to each key, in tables [2 · context - 1] by distance.
    column = graph.add("Unsqueeze", rows.positions, graph.integers(1))
    distances = graph.add("Sub", rows.positions, column)
    is_real = graph.cast(graph.add("Unsqueeze", rows.mask, graph.integers(1, 2)), "bool")
    padding = graph.add("Where", is_real, graph.number(0.0), graph.number(FORBIDDEN))

    def added(scheme: PositionScheme, window: int) -> Value | None:
        # Right padding comes after every real token: none can attend to it if reading is causal.
        parts = [] if causal else [padding]
        bias = _relative_bias(scheme, context)
        steps = np.arange(-context + 1, context)
        allowed = np.ones(len(steps), bool)
        if causal:
            allowed &= steps <= 0
        if window:
            allowed &= np.abs(steps) <= window
        if bias is not None or not allowed.all():
            scores = np.zeros((1, len(steps)), np.float32) if bias is None else bias
            table = np.where(allowed, scores, FORBIDDEN).astype(np.float32)
            shifted = graph.add("Add", distances, graph.index(context - 1))
            parts.append(graph.add("Gather", graph.constant(table), shifted, axis=1))  # [H, T, T]
        if len(parts) == 2:
            return graph.add("Add", *parts)
        return parts[0] if parts else None

    views = [View(added(base.position, 0), _rotation(graph, base, base.position, rows, context))]
    if base.window:
        local = base.local_position or base.position
        views.append(
            View(added(base.position, base.window), _rotation(graph, base, local, rows, context))
        )
    return views


@torch.inference_mode()
def _relative_bias(scheme: PositionScheme, context: int) -> np.ndarray | None:
    """Return what the scheme adds to scores by the key's distance [heads, 2 · context - 1]."""
    positions = default_positions(context, device=torch.device("cpu"))
    bias = scheme.bias(positions, positions)
    if bias is None:
        return None
    scores = array(bias[0])  # [heads, context, context]
    table = np.concatenate((scores[:, -1, :-1], scores[:, 0, :]), axis=1)
    steps = np.arange(context)
    if not np.allclose(table[:, steps[None, :] - steps[:, None] + context - 1], scores):
        raise RunError(
            "The positions of this base cannot be written to ONNX.",
            expected="scores that depend on the distance between two tokens",
            found=f"{type(scheme).__name__}, whose scores depend on both positions",
        )
    return table


@torch.inference_mode()
def _rotation(
    graph: Graph, base: Base, scheme: PositionScheme, rows: Rows, context: int
) -> Mapping[int, tuple[Value, Value]] | None:
    positions = default_positions(context, device=torch.device("cpu"))
    found = scheme.rotation(positions, torch.float32)
    if found is None:
        return None
    # [context, head width / 2] → [T, head width / 2]
    turns = [graph.add("Gather", graph.constant(array(t[0])), rows.positions) for t in found]
    heads = {each for block in base.blocks for each in _heads(block)}
    return {
        number: (
            graph.add("Tile", turns[0], graph.integers(1, number)),
            graph.add("Tile", turns[1], graph.integers(1, number)),
        )
        for number in sorted(heads)
    }


def _heads(block: nn.Module) -> tuple[int, int]:
    assert isinstance(block, Block)
    return block.attention.heads, block.attention.kv_heads


# --- blocks ---------------------------------------------------------------------------------------


def _add_block(graph: Graph, block: Block, x: Value, view: View) -> Value:
    if block.is_pre_norm:
        norm = block.attention_norm
        seen = x if norm is None else add_norm(graph, x, norm)
        x = graph.add("Add", x, _add_attention(graph, block, seen, view))
        fed = _add_feed_forward(
            graph, block.feed_forward, add_norm(graph, x, block.feed_forward_norm)
        )
        return graph.add("Add", x, fed)
    assert block.attention_norm is not None
    mixed = graph.add("Add", x, _add_attention(graph, block, x, view))
    x = add_norm(graph, mixed, block.attention_norm)
    fed = _add_feed_forward(graph, block.feed_forward, x)
    return add_norm(graph, graph.add("Add", x, fed), block.feed_forward_norm)


def _add_attention(graph: Graph, block: Block, x: Value, view: View) -> Value:
    """Return what each token reads [B, T, width].

    Queries, keys and values have a linear layer each: onnxruntime copies what it splits.
    """
    attention = block.attention
    heads, kv_heads, width = attention.heads, attention.kv_heads, attention.head_width
    weight: Tensor = attention.qkv.merged()
    bias: Tensor | None = attention.qkv.bias
    scale = torch.ones(len(weight))
    scale[: heads * width] = 1 / math.sqrt(width)  # queries are scaled in the weights
    weight, bias = weight * scale[:, None], None if bias is None else bias * scale
    columns = torch.arange(len(weight)).view(-1, width)  # [heads + 2 · kv heads, head width]

    def project(chosen: Tensor) -> Value:
        some = chosen.flatten()
        return graph.linear(x, array(weight[some]), None if bias is None else array(bias[some]))

    def split_heads(part: Tensor, *, is_rotated: bool) -> Value:
        """Return queries, keys or values [B, T, heads, head width]."""
        shape = graph.integers(0, 0, len(part), -1)
        if view.rotation is None or not is_rotated:
            return graph.add("Reshape", project(part), shape)
        # Columns 2i and 2i + 1 are rotated together; scores do not depend on their order.
        cos, sin = view.rotation[len(part)]
        even, odd = project(part[:, 0::2]), project(part[:, 1::2])
        turned = (
            graph.add("Sub", graph.add("Mul", even, cos), graph.add("Mul", odd, sin)),
            graph.add("Add", graph.add("Mul", odd, cos), graph.add("Mul", even, sin)),
        )
        return graph.add("Concat", *(graph.add("Reshape", h, shape) for h in turned), axis=3)

    queries = split_heads(columns[:heads], is_rotated=True)
    keys = split_heads(columns[heads : heads + kv_heads], is_rotated=True)
    values = split_heads(columns[heads + kv_heads :], is_rotated=False)
    if kv_heads != heads:
        shared = graph.integers(*np.repeat(np.arange(kv_heads), heads // kv_heads).tolist())
        keys, values = (graph.add("Gather", part, shared, axis=2) for part in (keys, values))
    by_head = graph.add("Transpose", queries, perm=(0, 2, 1, 3))  # [B, heads, T, head width]
    scores = graph.add("MatMul", by_head, graph.add("Transpose", keys, perm=(0, 2, 3, 1)))
    if view.added is not None:
        scores = graph.add("Add", scores, view.added)
    read = graph.add(
        "MatMul",
        graph.add("Softmax", scores, axis=-1),
        graph.add("Transpose", values, perm=(0, 2, 1, 3)),
    )
    by_token = graph.add("Transpose", read, perm=(0, 2, 1, 3))
    mixed = graph.add("Reshape", by_token, graph.integers(0, 0, heads * width))
    return add_linear(graph, mixed, attention.out)


def _add_feed_forward(graph: Graph, layer: FeedForward, x: Value) -> Value:
    wider = add_linear(graph, x, layer.expand)
    if layer.is_gated:
        first, gate = graph.add_several("Split", wider, outputs=2, axis=-1, num_outputs=2)
        activated = graph.add("Mul", add_activation(graph, first, layer.activation), gate)
    else:
        activated = add_activation(graph, wider, layer.activation)
    return add_linear(graph, activated, layer.contract)


# --- layers that heads have too -------------------------------------------------------------------


def add_linear(graph: Graph, x: Value, layer: nn.Linear) -> Value:
    """Add a linear layer, with its adapter if it has one."""
    weight = layer.merged() if isinstance(layer, BlockLinear) else layer.weight
    bias: Tensor | None = layer.bias
    return graph.linear(x, array(weight), None if bias is None else array(bias))


def add_norm(graph: Graph, x: Value, norm: Norm) -> Value:
    """Add a normalization."""
    weight = graph.constant(array(norm.weight))
    if isinstance(norm, nn.RMSNorm):
        epsilon = torch.finfo(torch.float32).eps if norm.eps is None else norm.eps
        square = graph.add("ReduceMean", graph.add("Mul", x, x), graph.integers(-1))
        size = graph.add("Sqrt", graph.add("Add", square, graph.number(epsilon)))
        return graph.add("Mul", graph.add("Div", x, size), weight)
    bias = () if norm.bias is None else (graph.constant(array(norm.bias)),)
    return graph.add("LayerNormalization", x, weight, *bias, axis=-1, epsilon=norm.eps)


def add_activation(graph: Graph, x: Value, activation: str) -> Value:
    """Add an activation function."""
    match activation:
        case "relu":
            return graph.add("Relu", x)
        case "silu":
            return graph.add("Mul", x, graph.add("Sigmoid", x))
        case "gelu" | "gelu_tanh":
            approximate = "tanh" if activation == "gelu_tanh" else "none"
            return graph.add("Gelu", x, approximate=approximate)
    raise AssertionError(activation)
