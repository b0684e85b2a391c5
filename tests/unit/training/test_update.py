"""Steps that are not finite are skipped: known at once on a CPU, on a GPU when they are read.

The path of a GPU is tested with tensors on a CPU, whose fused AdamW skips steps in the same way.
"""

from __future__ import annotations

import math

import pytest
import torch

from greffe.training.update import Outcome, Updates

LOSSES = [1.0, math.nan, 2.0, 1.0, 1.0]
NORMS = [1.0, 1.0, math.inf, math.nan, 3.0]


def optimizer() -> torch.optim.AdamW:
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = torch.full((3,), 0.5)
    return torch.optim.AdamW([weight], lr=0.1, weight_decay=0.1, fused=True)


def steps(made: torch.optim.AdamW, kind: type) -> tuple[list[Outcome], list[list[float]]]:
    """Outcomes, and the weights after each step; figures as numbers or as tensors."""
    updates = Updates(made, skipped=4, in_a_row=2)
    [weight] = made.param_groups[0]["params"]
    outcomes, weights = [], []
    for loss, norm in zip(LOSSES, NORMS, strict=True):
        values = (loss, norm) if kind is float else (torch.tensor(loss), torch.tensor(norm))
        outcomes.append(updates.apply(*values, {"one": values[0]}))
        weights.append(weight.tolist())
    return outcomes, weights


def test_both_paths_skip_the_same_steps_and_take_the_same_others() -> None:
    (first, second) = (optimizer(), optimizer())
    numbers, expected = steps(first, float)
    tensors, found = steps(second, torch.Tensor)
    assert found == expected
    assert expected[0] == expected[1] == expected[2] == expected[3] != expected[4]
    assert all(outcome.is_read for outcome in numbers)
    assert not any(outcome.is_read for outcome in tensors)
    for one, other in zip(numbers, tensors, strict=True):
        assert str(one.read()) == str(other.read())
        assert other.is_read
    states = [next(iter(made.state.values())) for made in (first, second)]
    assert float(states[0]["step"]) == float(states[1]["step"]) == 2
    assert torch.equal(states[0]["exp_avg_sq"], states[1]["exp_avg_sq"])


@pytest.mark.parametrize("kind", [float, torch.Tensor])
def test_skipped_steps_are_counted_from_where_the_training_was(kind: type) -> None:
    figures = [outcome.read() for outcome in steps(optimizer(), kind)[0]]
    assert [one.skipped for one in figures] == [4, 5, 6, 7, 7]
    assert [one.skipped_in_a_row for one in figures] == [0, 1, 2, 3, 0]
    assert figures[2].loss == 2.0 and figures[2].terms == {"one": 2.0}
    assert math.isinf(figures[2].gradient_norm)
