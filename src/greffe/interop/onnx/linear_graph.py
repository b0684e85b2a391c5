"""A linear classifier as an ONNX graph: counted terms and dense features → class probabilities.

Texts become counts of terms outside the graph; what TF-IDF makes of the counts is part of it.
"""

from __future__ import annotations

import numpy as np

from greffe.baselines.linear_classifier import LinearClassifier
from greffe.interop.onnx.graph import Graph, Value
from greffe.interop.onnx.task_graphs import GraphOptions, add_class_outputs


def linear_graph(
    classifier: LinearClassifier, *, temperature: float, options: GraphOptions
) -> bytes:
    """Return counts of each block and features → logits and probabilities [batch, classes].

    Terms and counts of a block are [batch, most terms of a text]; a count of zero is padding.
    """
    graph = Graph(opset=options.opset)
    scores = [graph.constant(classifier.bias[None].astype(np.float32))]
    first = 0
    idf = {} if classifier.tfidf is None else classifier.tfidf.idf
    for name, weights in idf.items():
        rows = classifier.weights[first : first + len(weights)]
        scores.append(_add_terms(graph, name, weights, rows))
        first += len(weights)
    columns = len(classifier.mean)
    if columns:
        features = graph.input("features", "float32", ("batch", columns))
        matrix = classifier.scale[:, None] * classifier.weights[first:]
        centered = graph.add("Sub", features, graph.constant(classifier.mean.astype(np.float32)))
        scores.append(graph.exact_linear(centered, matrix.T, None))
    logits = scores[0]
    for each in scores[1:]:
        logits = graph.add("Add", logits, each)
    add_class_outputs(graph, logits, classifier.settings.classes, temperature)
    return graph.model("linear", options.metadata)


def _add_terms(graph: Graph, name: str, idf: np.ndarray, weights: np.ndarray) -> Value:
    """Return what a TF-IDF block adds to the scores [B, classes]."""
    axes = ("batch", f"terms_of_{name}")
    terms = graph.input(f"terms_{name}", "int64", axes)
    counts = graph.input(f"counts_{name}", "float32", axes)
    one = graph.number(1.0)
    is_there = graph.add("Greater", counts, graph.number(0.0))
    logs = graph.add("Add", graph.add("Log", graph.add("Max", counts, one)), one)
    frequency = graph.add("Where", is_there, logs, graph.number(0.0))
    table = graph.constant(np.asarray(idf, np.float32))
    values = graph.add("Mul", frequency, graph.add("Gather", table, terms))  # [B, terms]
    square = graph.add("ReduceSum", graph.add("Mul", values, values), graph.integers(1), keepdims=1)
    is_empty = graph.add("Equal", square, graph.number(0.0))
    length = graph.add("Where", is_empty, one, graph.add("Sqrt", square))
    rows = graph.add("Gather", graph.constant(np.asarray(weights, np.float32)), terms)
    by_row = graph.add("Unsqueeze", graph.add("Div", values, length), graph.integers(1))
    product = graph.add("MatMul", by_row, rows)  # [B, 1, classes]
    return graph.add("Squeeze", product, graph.integers(1))
