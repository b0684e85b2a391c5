"""The arithmetic that a contender executes, counted from the shapes that it really works on.

The counting is greffe's own (`greffe.model.arithmetic`, tested against torch's counter): matrix
products only. A contender that sends padding through its blocks or every position through its
vocabulary matrix is credited with that work: a share of the peak says how well the machine is
used, not how little there was to do. What was to be done shows in tokens a second.
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
    spec: ModelSpec, vocab: int, rows: int, length: int, *, causal: bool, places: int
) -> int:
    """One step over rows of one length, of which so many places go through the vocabulary."""
    base = base_operations(spec, [length] * rows, causal=causal)
    head = vocabulary_operations(spec.width, vocab, places, transform=not causal)
    return TRAINING * (base + head)


def reading(spec: ModelSpec, shapes: Iterable[tuple[int, int]], *, training: bool) -> int:
    """Passes of a bidirectional base over batches, padding included; classes cost nothing."""
    once = sum(base_operations(spec, [width] * rows, causal=False) for rows, width in shapes)
    return TRAINING * once if training else once


@contextmanager
def recorded_shapes(module: nn.Module) -> Iterator[Shapes]:
    """Shapes [B, T] of the ids that a module is called with inside the block."""
    shapes: Shapes = []

    def note(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        rows, columns = inputs[0].shape
        shapes.append((rows, columns))

    handle = module.register_forward_pre_hook(note)
    try:
        yield shapes
    finally:
        handle.remove()
