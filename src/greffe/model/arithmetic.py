"""How many floating-point operations a pass over some rows takes, counted from the shapes.

Matrix products only, two operations for each multiplication and addition. Lookups, norms,
activations and softmax cost time but are no arithmetic worth counting: what they take shows as the
distance to the machine's peak. Knows specs alone, no tensors.
"""

from __future__ import annotations

from collections.abc import Iterable

from greffe.config.sections import ModelSpec

TRAINING = 3
"""Forward, and backward with its two products for each one of the forward pass."""


def base_operations(spec: ModelSpec, lengths: Iterable[int], *, causal: bool) -> int:
    """One forward pass of the base over rows of these lengths (of documents, where isolated)."""
    width = spec.width
    a_token = 2 * (4 * width * width + 2 * width * spec.feed_forward)  # in products with weights
    total = 0
    for length in lengths:
        pairs = length * (length + 1) // 2 if causal else length * length  # query and key
        total += length * a_token + pairs * 4 * width  # scores, and their mix of values
    return total * spec.layers


def vocabulary_operations(width: int, vocab: int, places: int, *, transform: bool) -> int:
    """One forward pass of a vocabulary head over so many places; masked heads transform first."""
    return places * 2 * (width * vocab + (width * width if transform else 0))
