"""Frozen arms: only the classifier's head learns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from greffe.run import RunDirectory
from greffe.study.arms import ArmOptions
from greffe.study.arms.frozen_arm import FrozenArm
from greffe.study.folder import CellResult

BASE, OTHER = RunDirectory("runs/base"), RunDirectory("runs/other")


@pytest.mark.parametrize("frozen", [True, False])
def test_every_base_has_one_if_they_are_asked_for(frozen: bool) -> None:
    arms = FrozenArm.planned(ArmOptions(base=BASE, others={"causal": OTHER}, frozen=frozen))
    expected = [("frozen", BASE, True), ("causal-frozen", OTHER, False)] if frozen else []
    assert [(arm.name, arm.run, arm.is_usual) for arm in arms] == expected
    assert all(arm.opponents == ("pretrained",) for arm in arms)


def test_the_base_stays_as_it_is(
    fresh_run: Callable[..., RunDirectory], compute: Callable[..., CellResult]
) -> None:
    moves = compute(FrozenArm("frozen", fresh_run("base"))).moves
    assert moves and all(move.moved == 0 for move in moves)
