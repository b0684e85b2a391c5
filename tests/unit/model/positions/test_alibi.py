"""ALiBi: attention scores fall with distance."""

from __future__ import annotations

import torch

from greffe.model.positions.alibi import AlibiPositions


def test_the_bias_is_minus_slope_times_distance_on_both_sides():
    scheme = AlibiPositions(heads=4)
    assert scheme.slopes() == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8]
    bias = scheme.bias(torch.tensor([[2, 5]]), torch.tensor([[0, 2, 9]]))
    for head, slope in enumerate(scheme.slopes()):
        expected = torch.tensor([[-2 * slope, 0, -7 * slope], [-5 * slope, -3 * slope, -4 * slope]])
        torch.testing.assert_close(bias[0, head], expected)
