"""Count the arithmetic operations of a contender from the shapes it computes.

Uses `greffe.model.arithmetic` (tested against torch's counter), which counts matrix products. A
contender that computes padding, or the vocabulary scores of every position, is credited with that
work: the fraction of the peak says how well the machine is used, tokens per second how fast the
task is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from greffe.config.sections import ModelSpec
from greffe.model.arithmetic import TRAINING, base_operations, vocabulary_operations

Shapes = list[tuple[int, int]]
"""Rows and columns of each batch of ids."""


def language_training(
    spec: ModelSpec,
    vocab: int,
    rows: int,
    length: int,
    *,
    causal: bool,
    predicted: int,
    last: int | None = None,
) -> int:
    """Return the operations of a training step that predicts `predicted` tokens.

    last: tokens that the last feed-forward layer reads; None: all.
    """
    base = base_operations(spec, [length] * rows, causal=causal)
    if last is not None:
        base -= (rows * length - last) * 2 * 2 * spec.width * spec.feed_forward
    head = vocabulary_operations(spec.width, vocab, predicted, transform=not causal)
    return TRAINING * (base + head)


def classification(spec: ModelSpec, shapes: Iterable[tuple[int, int]], *, training: bool) -> int:
    """Return the operations of a bidirectional base over batches, including padding."""
    once = sum(base_operations(spec, [width] * rows, causal=False) for rows, width in shapes)
    return TRAINING * once if training else once


@contextmanager
def recorded_shapes(module: nn.Module) -> Iterator[Shapes]:
    """Record the shapes [B, T] of the ids that a module is called with inside the block."""
    shapes: Shapes = []

    def note(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        rows, columns = inputs[0].shape
        shapes.append((rows, columns))

    handle = module.register_forward_pre_hook(note)
    try:
        yield shapes
    finally:
        handle.remove()
