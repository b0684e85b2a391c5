"""The graphs that are exported, one for each task: classes of texts, features, the next token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from greffe.config.sections import Pooler
from greffe.interop.onnx.base_graph import Rows, add_base, array, read_rows
from greffe.interop.onnx.graph import OPSET, Graph, Value
from greffe.model.heads.classification_head import Classification
from greffe.model.model import Model

Simple = Literal["last", "first", "mean", "max", "mean+max"]
"""The poolers that read hidden states alone."""
LEAST = float(np.finfo(np.float32).min)


@dataclass(frozen=True)
class GraphOptions:
    """What all graphs have in common."""

    int8: bool = False
    opset: int = OPSET
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What the file says of itself."""


def classification_graph(
    model: Model, *, causal: bool, temperature: float, options: GraphOptions
) -> bytes:
    """Return tokens → logits and probabilities [batch, classes].

    The probabilities are those of the logits divided by a temperature.
    """
    graph = Graph(int8=options.int8, opset=options.opset)
    rows = read_rows(graph)
    hidden = add_base(graph, model, rows, causal=causal)
    head = model.heads["classification"]
    assert isinstance(head, Classification)
    pooled = _add_pooled(graph, model, hidden, rows, head.pooler)
    # Few outputs: quantizing them would save nothing.
    logits = graph.exact_linear(pooled, array(head.score.weight), array(head.score.bias))
    add_class_outputs(graph, logits, head.score.out_features, temperature)
    return graph.model("classification", options.metadata)


def features_graph(model: Model, *, causal: bool, options: GraphOptions) -> bytes:
    """Return tokens → features [batch, columns], those of `baselines.features`.

    Mean embedding, mean of the last layer, and the last layer at the last token.
    """
    graph = Graph(int8=options.int8, opset=options.opset)
    rows = read_rows(graph)
    hidden = add_base(graph, model, rows, causal=causal)
    embedded = _embedded(graph, model, rows)
    parts = (
        add_pooling(graph, embedded, rows, "mean"),
        add_pooling(graph, hidden, rows, "mean"),
        add_pooling(graph, hidden, rows, "last"),
    )
    columns = model.spec.token_width + 2 * model.spec.width
    features = graph.add("Concat", *parts, axis=1)
    graph.output(features, "features", "float32", ("batch", columns))
    return graph.model("features", options.metadata)


def next_token_graph(model: Model, options: GraphOptions) -> bytes:
    """Return tokens → logits and probabilities [batch, vocabulary] of the token after each row."""
    graph = Graph(int8=options.int8, opset=options.opset)
    rows = read_rows(graph)
    hidden = add_base(graph, model, rows, causal=True)
    head = model.vocabulary_head("next_token")
    weight, bias = head.decoder(model.base.embedding.weight)
    last = add_pooling(graph, hidden, rows, "last")
    projection = getattr(head, "projection", None)
    if projection is not None:
        last = graph.exact_linear(last, array(projection.weight), None)
    logits = graph.scores(last, array(weight), array(bias))
    add_class_outputs(graph, logits, model.vocab, 1.0)
    return graph.model("next_token", options.metadata)


def _embedded(graph: Graph, model: Model, rows: Rows) -> Value:
    """Return the rows of the embedding [B, T, token width]; its table is stored once."""
    return graph.lookup(array(model.base.embedding.weight), rows.ids)


def _add_pooled(graph: Graph, model: Model, hidden: Value, rows: Rows, pooler: Pooler) -> Value:
    """Return what a classification head reads: one vector per row."""
    if pooler != "mean+embedding":
        return add_pooling(graph, hidden, rows, pooler)
    both = (hidden, _embedded(graph, model, rows))
    return graph.add("Concat", *(add_pooling(graph, x, rows, "mean") for x in both), axis=1)


def add_pooling(graph: Graph, hidden: Value, rows: Rows, pooler: Simple) -> Value:
    """Return one vector per row of hidden states [B, T, width], ignoring padding."""
    is_real = graph.add("Unsqueeze", rows.mask, graph.integers(2))  # [B, T, 1]
    match pooler:
        case "first":
            return graph.add("Gather", hidden, graph.index(0), axis=1)
        case "last":
            lengths = graph.add("ReduceSum", rows.mask, graph.integers(1), keepdims=1)
            last = graph.add("Sub", lengths, graph.index(1))  # [B, 1]
            return graph.add("GatherND", hidden, last, batch_dims=1)
        case "mean":
            weights = graph.cast(is_real, "float32")
            total = graph.add(
                "ReduceSum", graph.add("Mul", hidden, weights), graph.integers(1), keepdims=0
            )
            return graph.add(
                "Div", total, graph.add("ReduceSum", weights, graph.integers(1), keepdims=0)
            )
        case "max":
            real = graph.add("Where", graph.cast(is_real, "bool"), hidden, graph.number(LEAST))
            return graph.add("ReduceMax", real, graph.integers(1), keepdims=0)
        case "mean+max":
            both = (add_pooling(graph, hidden, rows, each) for each in ("mean", "max"))
            return graph.add("Concat", *both, axis=1)


def add_class_outputs(graph: Graph, logits: Value, classes: int, temperature: float) -> None:
    """Make logits [B, classes] and their probabilities outputs of the graph."""
    scaled = logits
    if temperature != 1.0:
        scaled = graph.add("Div", logits, graph.number(temperature))
    graph.output(logits, "logits", "float32", ("batch", classes))
    probabilities = graph.add("Softmax", scaled, axis=-1)
    graph.output(probabilities, "probabilities", "float32", ("batch", classes))
