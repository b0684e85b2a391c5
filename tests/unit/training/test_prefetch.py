"""Batches prepared ahead are the same batches, earlier."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import pytest
import torch

from greffe.data.batches import Batch
from greffe.training.prefetch import prefetch, prefetch_batches

PATIENCE = 20  # seconds; only a broken test waits so long


@pytest.fixture(autouse=True)
def every_step_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greffe.training.prefetch.LONG_STEP", 0.0)


def running() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("batches")]


@pytest.mark.parametrize("steps", [range(5), [7, 8, 3, 3, 4, 0], [5, 4, 3], []])
def test_every_step_gets_its_own_whatever_the_order(steps: list[int]) -> None:
    with prefetch(lambda step: f"batch {step}") as get:
        assert [get(step) for step in steps] == [f"batch {step}" for step in steps]


def test_steps_in_order_are_prepared_once() -> None:
    asked: list[int] = []
    with prefetch(asked.append) as get:
        for step in range(3, 8):
            get(step)
    assert asked == [3, 4, 5, 6, 7, 8]


def test_the_next_step_begins_before_it_is_asked_for() -> None:
    begun = threading.Event()

    def prepare(step: int) -> int:
        if step == 1:
            begun.set()
        return step

    with prefetch(prepare) as get:
        assert not begun.is_set()
        assert get(0) == 0
        assert begun.wait(PATIENCE)
        assert get(1) == 1


def test_a_step_does_not_wait_for_the_one_after_it() -> None:
    release = threading.Event()

    def prepare(step: int) -> int:
        if step == 1:
            assert release.wait(PATIENCE)
        return step

    with prefetch(prepare) as get:
        assert get(0) == 0
        release.set()
        assert get(1) == 1


def test_an_error_comes_at_the_step_that_asked_and_not_before() -> None:
    failed = threading.Event()

    def prepare(step: int) -> int:
        if step == 2:
            failed.set()
            raise ValueError("no step 2")
        return step

    with prefetch(prepare) as get:
        assert get(0) == 0
        assert get(1) == 1
        assert failed.wait(PATIENCE)
        with pytest.raises(ValueError, match="no step 2"):
            get(2)
        assert get(3) == 3


def test_an_error_in_a_step_that_is_not_requested_is_not_raised() -> None:
    def prepare(step: int) -> int:
        if step == 1:
            raise ValueError("the data end here")
        return step

    with prefetch(prepare) as get:
        assert get(0) == 0


def test_nothing_runs_on_after_the_block() -> None:
    finished: list[int] = []
    with prefetch(finished.append) as get:
        get(0)
        assert running()
    assert not running()
    assert finished == [0, 1]
    with pytest.raises(KeyError), prefetch(finished.append) as get:
        get(5)
        raise KeyError
    assert not running()


def test_short_steps_are_prepared_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greffe.training.prefetch.LONG_STEP", 60.0)
    where: list[str] = []
    with prefetch(lambda step: where.append(threading.current_thread().name)) as get:
        for step in range(4):
            get(step)
    # The first step has none before it that could have been short.
    assert where[2:] == ["MainThread", "MainThread"]


def test_short_steps_are_prepared_ahead_only_if_always(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("greffe.training.prefetch.LONG_STEP", PATIENCE)
    for always, expected in ((False, [0, 1, 2]), (True, [0, 1, 2, 3])):
        asked: list[int] = []
        with prefetch(asked.append, always=always) as get:
            for step in range(3):
                get(step)
        assert asked == expected


def batches(step: int) -> list[Batch]:
    ids = torch.arange(6).view(2, 3) + step
    return [Batch(ids=ids, counts={}, targets=ids + 1)]


def test_batches_for_a_gpu_are_pinned_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "device", lambda one: used.append(one) or nullcontext())
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: -tensor)
    with prefetch_batches(batches, torch.device("cuda", 1)) as get:
        [pinned] = get(3)
    [plain] = batches(3)
    assert set(used) == {torch.device("cuda", 1)}
    assert torch.equal(pinned.ids, -plain.ids) and torch.equal(pinned.targets, -plain.targets)


def test_batches_for_a_cpu_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Batch, "pinned", None)
    with prefetch_batches(batches, torch.device("cpu")) as get:
        assert torch.equal(get(3)[0].ids, batches(3)[0].ids)
