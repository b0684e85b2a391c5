"""Rotary positions: pairs of columns are turned by angles."""

from __future__ import annotations

import math

import torch

from greffe.model.positions.rotary import RotaryPositions, _rotate_pairs


def test_scores_depend_on_distance_only_and_norms_are_kept():
    scheme = RotaryPositions(head_width=6, base=100.0)
    q, k = torch.randn(2, 1, 2, 4, 6, dtype=torch.float64)
    positions = torch.tensor([[0, 1, 5, 9]])
    scores = []
    for shift in (0, 1000):
        turned_q, turned_k = scheme.rotate(q, k, positions + shift)
        scores.append(turned_q @ turned_k.transpose(-1, -2))
        torch.testing.assert_close(turned_q.norm(dim=-1), q.norm(dim=-1))
    torch.testing.assert_close(scores[0], scores[1])
    assert not torch.allclose(scores[0], q @ k.transpose(-1, -2))


def test_each_pair_is_rotated_by_position_times_frequency():
    scheme = RotaryPositions(head_width=4, base=100.0)
    q = torch.tensor([1.0, 0.0, 0.0, 1.0]).view(1, 1, 1, 4)
    turned, _ = scheme.rotate(q, q, torch.tensor([[3]]))
    slow = 3 / 100 ** (2 / 4)
    expected = [math.cos(3), math.sin(3), -math.sin(slow), math.cos(slow)]
    torch.testing.assert_close(turned.flatten(), torch.tensor(expected))


def test_real_numbers_rotate_as_complex_ones_do():
    """On a GPU rotations are computed without complex numbers."""
    scheme = RotaryPositions(head_width=6, base=100.0)
    q, k = torch.randn(2, 3, 2, 4, 6)
    positions = torch.tensor([[0, 1, 5, 9]])
    turns = scheme.angles(positions, q.dtype)[:, None]
    for plain, expected in zip((q, k), scheme.rotate(q, k, positions), strict=True):
        found = _rotate_pairs(plain, turns.cos(), turns.sin())
        torch.testing.assert_close(found, expected)
        assert _rotate_pairs(plain.bfloat16(), turns.cos(), turns.sin()).dtype == torch.bfloat16
