"""Floating-point operations of a pass over some rows, counted from the shapes.

Only matrix products count, with two operations per multiply-add. The time of lookups, norms,
activations and softmax shows as the distance to the machine's peak. Knows specs, no tensors.
"""

from __future__ import annotations

from collections.abc import Iterable

from greffe.config.sections import ModelSpec

TRAINING = 3
"""Training costs three forward passes: the backward pass has two products for each forward one."""


def base_operations(spec: ModelSpec, lengths: Iterable[int], *, causal: bool) -> int:
    """Return the operations of a base's forward pass over rows or documents of these lengths."""
    width = spec.width
    per_token = 2 * (4 * width * width + 2 * width * spec.feed_forward)  # products with weights
    total = 0
    for length in lengths:
        pairs = length * (length + 1) // 2 if causal else length * length  # of query and key
        total += length * per_token + pairs * 4 * width  # scores and weighted values
    return total * spec.layers


def vocabulary_operations(width: int, vocab: int, positions: int, *, transform: bool) -> int:
    """Return the operations of a vocabulary head's forward pass over this many positions.

    transform: whether it has a linear layer before the matrix, as masked-token heads do.
    """
    return positions * 2 * (width * vocab + (width * width if transform else 0))
