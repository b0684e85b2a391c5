"""Whether a training collapsed: its loss, the class frequencies, its accuracy, its steps."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from greffe.training.collapse import (
    LEAST_STEPS,
    Ending,
    LoggedLoss,
    Restarted,
    last_losses,
)

COLLAPSED = Ending(
    steps=200,
    loss=0.694,
    frequencies=math.log(2),
    accuracy=0.5,
    most_frequent=0.5,
    texts=400,
)


@pytest.mark.parametrize(
    ("changes", "is_collapsed"),
    [
        ({}, True),
        ({"loss": 5.0}, True),  # sure of one class
        ({"loss": 0.985 * math.log(2)}, True),
        ({"loss": 0.975 * math.log(2)}, False),
        ({"steps": LEAST_STEPS}, True),
        ({"steps": LEAST_STEPS - 1}, False),
        ({"accuracy": 0.54}, True),  # 400 texts: two standard errors are 5 points
        ({"accuracy": 0.56}, False),
        ({"accuracy": 0.9}, False),  # the weights that are kept are earlier ones
        ({"accuracy": 0.75, "texts": 10}, True),
        ({"most_frequent": 0.95, "accuracy": 0.95, "frequencies": 0.2, "loss": 0.2}, True),
        ({"most_frequent": 0.95, "accuracy": 0.95, "frequencies": 0.2, "loss": 0.15}, False),
        ({"most_frequent": 1.0, "accuracy": 1.0}, True),
    ],
)
def test_the_loss_and_the_accuracy_decide(changes: dict[str, float], is_collapsed: bool) -> None:
    assert replace(COLLAPSED, **changes).is_collapsed == is_collapsed  # type: ignore[arg-type]


def test_the_last_quarter_counts_with_the_frequencies_of_its_own_texts() -> None:
    losses = [LoggedLoss(step=step, loss=float(step)) for step in range(2, 41, 2)]
    asked: list[int] = []

    def frequencies(step: int) -> float:
        asked.append(step)
        return step / 10

    assert last_losses(losses, frequencies) == pytest.approx((36.0, 3.5))
    assert asked == [31, 33, 35, 37, 39]  # from 0: what steps 32 to 40 learned from


def test_a_training_without_logged_losses_is_not_judged() -> None:
    loss, frequencies = last_losses([], lambda _: 1.0)
    assert not replace(COLLAPSED, loss=loss, frequencies=frequencies).is_collapsed


def test_restarts_are_recorded_in_a_result_and_read_from_it() -> None:
    restarted = Restarted(restarts=2, lr=1e-4, collapsed=1)
    assert Restarted.of_result({"steps": 200, **restarted.figures}) == restarted
    assert Restarted.of_result({"steps": 200}) is None


def test_the_restarts_of_a_soup_are_those_of_its_models() -> None:
    once, twice = Restarted(restarts=1, lr=3e-4), Restarted(restarts=2, lr=1e-4, collapsed=1)
    found = Restarted.of_soup([None, once, twice])
    assert found == Restarted(restarts=3, lr=1e-4, collapsed=1)
    assert Restarted.of_soup([None, None]) is None
    assert once.describe() == "restarted once, lr 0.0003"
    assert twice.describe() == "restarted 2 times, lr 0.0001, collapsed"
