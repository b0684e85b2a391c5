"""Blocks worked on side by side come back in order, and a process that dies is an error."""

from __future__ import annotations

import operator
import os

import pytest

from greffe.data.processes import map_in_order
from greffe.errors import RunError


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_blocks(workers):
    results = map_in_order(operator.mul, 3, iter(range(20)), workers, hint="")
    assert list(results) == [(block, 3 * block) for block in range(20)]


def test_blocks_are_read_as_they_are_needed():
    taken = []

    def blocks():
        for number in range(100):
            taken.append(number)
            yield number

    results = map_in_order(operator.mul, 3, blocks(), 2, hint="")
    next(results)
    assert len(taken) <= 4
    results.close()


def test_a_worker_that_dies_is_an_error_with_a_hint():
    results = map_in_order(operator.call, os._exit, iter([1]), 2, hint="try fewer")
    with pytest.raises(RunError, match="worker process died") as caught:
        list(results)
    assert caught.value.hint == "try fewer"


def test_an_error_in_a_worker_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(map_in_order(operator.truediv, 1, iter([0]), 2, hint=""))
