"""How fast this machine trains."""

from __future__ import annotations

import pytest

from greffe.pipelines.speed_test import training_speed


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_speed_is_in_operations_per_second(precision: str) -> None:
    assert 1e8 < training_speed("cpu", precision, seconds=0.01) < 1e14
