"""Threads and memory of this process."""

from __future__ import annotations

import pytest
import torch

from greffe.machine import cores
from greffe.training import compute
from greffe.training.compute import set_up_compute


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch):
    """Neither threads nor the C library's settings outlive a test."""
    monkeypatch.setattr(compute, "keep_freed_memory", lambda: True)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_threads_are_those_wanted_or_told_or_a_share_of_the_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert set_up_compute(2) == 2 == torch.get_num_threads()
    assert set_up_compute(0) == 1 == torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert set_up_compute(0) == cores() == torch.get_num_threads()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000")
    assert set_up_compute() == 1 == torch.get_num_threads()


@pytest.mark.parametrize("value", ["", "0", "many", "2,1"])
def test_a_number_of_threads_that_says_nothing_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert set_up_compute() == cores()


def test_freed_memory_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(compute, "keep_freed_memory", lambda: calls.append(True))
    set_up_compute(1)
    assert calls == [True]
