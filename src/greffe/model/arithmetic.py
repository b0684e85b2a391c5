"""Floating-point operations of a pass over some rows, counted from the shapes.

Only matrix products count, with two operations per multiply-add. The time of lookups, norms,
activations and softmax shows as the distance to the machine's peak. Knows specs, no tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from greffe.config.sections import ModelSpec

TRAINING = 3
"""Training costs three forward passes: the backward pass has two products for each forward one."""


def base_operations(spec: ModelSpec, lengths: Iterable[int], *, causal: bool) -> int:
    """Return the operations of a base's forward pass over rows or documents of these lengths."""
    width = spec.width
    weights = width * (2 * width + 2 * spec.kv_width + spec.expanded + spec.feed_forward)
    local = sum(spec.is_local(block) for block in range(spec.layers))
    lengths = list(lengths)
    total = 0
    for length in lengths:
        whole = _pairs(length, length, causal=causal)
        near = _pairs(length, spec.window, causal=causal)
        pairs = (spec.layers - local) * whole + local * near
        # Scores and weighted values of each pair of query and key.
        total += spec.layers * length * 2 * weights + pairs * 4 * width
    return total + 2 * sum(lengths) * spec.embedding_width * width


def _pairs(length: int, reach: int, *, causal: bool) -> int:
    """Return how many pairs of query and key are at most `reach` tokens apart."""
    reach = min(reach, length - 1)
    before = reach * length - reach * (reach + 1) // 2
    return length + (before if causal else 2 * before)


def vocabulary_operations(width: int, vocab: int, positions: int, *, transform: bool) -> int:
    """Return the operations of a vocabulary head's forward pass over this many positions.

    transform: whether it has a linear layer before the matrix, as masked-token heads do.
    """
    return positions * 2 * (width * vocab + (width * width if transform else 0))


@dataclass(frozen=True)
class MatrixProduct:
    """The product of activations [rows, inputs] with a weight [outputs, inputs]."""

    rows: int
    inputs: int
    outputs: int
    times: int = 1
    """How often it occurs in a pass."""


def matrix_products(
    spec: ModelSpec, tokens: int, *, vocab: int = 0, predicted: int = 0
) -> list[MatrixProduct]:
    """Return the products with weights in a pass over so many tokens, `predicted` with a vocabulary
    head."""
    width, layers = spec.width, spec.layers
    products = [
        MatrixProduct(tokens, width, width + 2 * spec.kv_width, layers),
        MatrixProduct(tokens, width, width, layers),
        MatrixProduct(tokens, width, spec.expanded, layers),
        MatrixProduct(tokens, spec.feed_forward, width, layers),
        MatrixProduct(predicted, spec.token_width, vocab),
    ]
    return [product for product in products if product.rows and product.outputs and product.times]
