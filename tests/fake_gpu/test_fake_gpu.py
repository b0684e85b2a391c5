"""The fake GPU notices what it is there to notice."""

from __future__ import annotations

import pytest
import torch
from tests.fake_gpu.conftest import FakeGpu, Waiting
from torch._subclasses.fake_tensor import DynamicOutputShapeException


def test_a_tensor_left_on_the_host_is_an_error(gpu: FakeGpu) -> None:
    there = torch.zeros(3, device=gpu.device)
    with pytest.raises(RuntimeError, match="same device"):
        there + torch.zeros(3)


@pytest.mark.parametrize(
    "wait",
    [
        lambda there: float(there.sum()),
        lambda there: bool((there > 0).any()),
        lambda there: there[there > 0],
        lambda there: there.unique(),
        lambda there: there.cpu(),
        lambda there: torch.zeros(3).to(there.device),
    ],
)
@pytest.mark.parametrize("inference", [True, False])
def test_waiting_for_the_device_is_noticed(gpu: FakeGpu, wait, inference: bool) -> None:
    with torch.inference_mode(inference):
        there = torch.zeros(3, device=gpu.device)
        # Shapes that depend on numbers are refused by the mode itself.
        with Waiting(refuse=True), pytest.raises((AssertionError, DynamicOutputShapeException)):
            wait(there)


def test_copies_that_nobody_waits_for_are_none(gpu: FakeGpu) -> None:
    with Waiting(refuse=True):
        moved = torch.zeros(3).to(gpu.device, non_blocking=True)
    assert moved.device == gpu.device
