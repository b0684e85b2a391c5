"""How fast this machine trains."""

from __future__ import annotations

from greffe.pipelines.speed_test import training_speed


def test_the_speed_is_in_operations_per_second() -> None:
    assert 1e8 < training_speed(seconds=0.01) < 1e14
