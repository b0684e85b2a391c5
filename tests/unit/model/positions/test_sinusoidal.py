"""Sinusoidal positions: the original formula, at any precision."""

from __future__ import annotations

import math

import pytest
import torch

from greffe.model.positions.sinusoidal import SinusoidalPositions


@pytest.mark.parametrize("width", [1, 2, 7, 8])
def test_the_table_is_the_original_formula(width):
    table = SinusoidalPositions(width).embed(torch.zeros(1, 30, width), torch.arange(30)[None])[0]
    for position in range(30):
        for column in range(width):
            angle = position / 10_000 ** ((column - column % 2) / width)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[position, column].item() == pytest.approx(expected, abs=2e-6)


def test_half_precision_distinguishes_distant_positions():
    positions = torch.tensor([[4000, 4001]])
    table = SinusoidalPositions(8).embed(torch.zeros(1, 2, 8, dtype=torch.bfloat16), positions)
    assert table.dtype == torch.bfloat16
    assert not torch.equal(table[0, 0], table[0, 1])
