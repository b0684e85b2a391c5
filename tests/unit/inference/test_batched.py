from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from greffe.inference.batched import MAX_PADDING, forward_rows
from greffe.model.model import Model

PAD = 1


def rows_of(lengths: list[int]) -> list[np.ndarray]:
    return [np.full(length, 10 + length) for length in lengths]


@pytest.fixture
def model(make_model: Callable[..., Model]) -> Model:
    return make_model("classification")


def test_results_come_in_the_order_of_the_rows(model: Model) -> None:
    rows = rows_of([5, 2, 9, 2, 7])

    def first_and_length(ids: Tensor, lengths: Tensor | None) -> Tensor:
        sizes = torch.full((len(ids),), ids.shape[1]) if lengths is None else lengths
        return torch.stack([ids[:, 0], sizes], dim=1)

    found = forward_rows(model, rows, first_and_length, 2, pad=PAD)
    assert found.tolist() == [[10 + len(row), len(row)] for row in rows]


def test_batches_are_bounded_and_hardly_padded(model: Model) -> None:
    rows = rows_of([3] * 40 + [4] * 3 + list(range(5, 60)))
    shapes: list[tuple[int, int, int]] = []

    def note(ids: Tensor, lengths: Tensor | None) -> Tensor:
        real = ids.numel() if lengths is None else int(lengths.sum())
        shapes.append((len(ids), ids.shape[1], real))
        return torch.zeros(len(ids), 1)

    forward_rows(model, rows, note, 1, pad=PAD, batch_tokens=100)
    assert sum(count for count, _, _ in shapes) == len(rows)
    assert sum(real for _, _, real in shapes) == sum(map(len, rows))
    for count, width, real in shapes:
        assert count * width <= 100
        assert count * width - real <= MAX_PADDING * count * width
    # A row that alone exceeds the limit is a batch of its own.
    shapes.clear()
    forward_rows(model, rows_of([9]), note, 1, pad=PAD, batch_tokens=4)
    assert shapes == [(1, 9, 9)]


def test_gradients_and_dropout_are_off_and_the_mode_is_restored(model: Model) -> None:
    def check(ids: Tensor, lengths: Tensor | None) -> Tensor:
        assert torch.is_inference_mode_enabled() and not model.training
        return torch.zeros(len(ids), 1)

    forward_rows(model, rows_of([3]), check, 1, pad=PAD)
    assert model.training
