"""Ctrl-C and SIGTERM: the first asks, the second acts."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from greffe.training.interruption import Interruption

SIGNALS = [signal.SIGINT, signal.SIGTERM]


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.fixture
def heard() -> Any:
    """Replace the handlers that would end the tests."""
    numbers: list[int] = []
    before = {number: signal.signal(number, lambda n, _: numbers.append(n)) for number in SIGNALS}
    yield numbers
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_only_asks(heard: list[int], number: signal.Signals) -> None:
    with Interruption() as interruption:
        assert not interruption.requested
        send(number)
        assert interruption.requested
        assert heard == []


@pytest.mark.parametrize("second", SIGNALS)
def test_the_second_signal_acts_at_once(heard: list[int], second: signal.Signals) -> None:
    with Interruption() as interruption:
        send(signal.SIGINT)
        send(second)
        assert interruption.requested
        assert heard == [second]


def test_ctrl_c_twice_is_a_keyboard_interrupt(heard: list[int]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt), Interruption():
        send(signal.SIGINT)
        send(signal.SIGINT)


def test_afterwards_all_is_as_before(heard: list[int]) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Interruption():
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before
    with pytest.raises(ZeroDivisionError), Interruption():
        send(signal.SIGTERM)
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_in_another_thread_signals_are_left_alone() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    found: list[Any] = []

    def work() -> None:
        with Interruption() as interruption:
            found.append([signal.getsignal(number) for number in SIGNALS])
            found.append(interruption.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before, False]
