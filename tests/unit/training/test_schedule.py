"""Learning rates, budgets and cadences as functions of how far a training is."""

from __future__ import annotations

import itertools
import math

import pytest

from greffe.config.sections import TrainSpec
from greffe.config.spans import Span
from greffe.training.schedule import Budget, Cadence, Clock, lr_factor

SHAPES = ["cosine", "linear", "constant"]


def spec(**choices: object) -> TrainSpec:
    return TrainSpec.model_validate(choices)


# --- learning rate ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_the_rate_rises_from_next_to_nothing_to_its_highest(shape: str) -> None:
    chosen = spec(schedule=shape, warmup=0.2)
    assert lr_factor(chosen, 0.0) == 0.01
    assert lr_factor(chosen, 0.1) == pytest.approx(0.5)
    assert lr_factor(chosen, 0.2) == pytest.approx(1.0)
    rising = [lr_factor(chosen, step / 100) for step in range(21)]
    assert rising == sorted(rising)


@pytest.mark.parametrize("shape", SHAPES)
def test_without_warm_up_the_first_step_is_the_highest(shape: str) -> None:
    assert lr_factor(spec(schedule=shape, warmup=0.0), 0.0) == 1.0


@pytest.mark.parametrize("final", [0.0, 0.1, 1.0])
def test_where_the_shapes_end(final: float) -> None:
    for shape in ("cosine", "linear"):
        chosen = spec(schedule=shape, final_lr=final)
        assert lr_factor(chosen, 1.0) == pytest.approx(final)
        assert lr_factor(chosen, 1.3) == pytest.approx(final)
    assert lr_factor(spec(schedule="constant", final_lr=final), 1.0) == 1.0


def test_the_shapes_in_between() -> None:
    halfway = 0.1 + 0.9 / 2
    quarter = 0.1 + 0.9 / 4
    linear, cosine = spec(schedule="linear", warmup=0.1), spec(schedule="cosine", warmup=0.1)
    assert lr_factor(linear, halfway) == pytest.approx(0.5)
    assert lr_factor(linear, quarter) == pytest.approx(0.75)
    assert lr_factor(cosine, halfway) == pytest.approx(0.5)
    assert lr_factor(cosine, quarter) == pytest.approx(0.5 * (1 + math.cos(math.pi / 4)))


@pytest.mark.parametrize("shape", ["cosine", "linear"])
def test_after_warm_up_the_rate_never_rises(shape: str) -> None:
    chosen = spec(schedule=shape, warmup=0.05, final_lr=0.1)
    falling = [lr_factor(chosen, step / 1000) for step in range(50, 1001)]
    assert falling == sorted(falling, reverse=True)
    assert min(falling) >= 0.1


# --- budgets ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("100steps", Clock(step=99), Clock(step=100)),
        ("2epochs", Clock(step=74), Clock(step=75)),  # 2 × 37.5
        ("0.5epochs", Clock(step=18), Clock(step=19)),
        ("1ktokens", Clock(tokens=999), Clock(tokens=1000)),
        ("1m30s", Clock(seconds=89.99), Clock(seconds=90.0)),
    ],
)
def test_a_budget_is_over_when_all_of_it_is_used(text: str, before: Clock, after: Clock) -> None:
    budget = Budget.parse(text, steps_per_epoch=37.5)
    assert not budget.is_over(before) and budget.progress(before) < 1.0
    assert budget.is_over(after) and budget.progress(after) == 1.0
    assert not budget.is_over(Clock()) and budget.progress(Clock()) == 0.0


def test_a_budget_counts_only_its_own_unit() -> None:
    far = Clock(step=10**9, tokens=10**12, seconds=1.0)
    assert Budget.parse("1h", 10).progress(far) == pytest.approx(1 / 3600)
    assert Budget.parse("10Gtokens", 10).progress(Clock(step=99, tokens=10**9)) == 0.1


def test_progress_never_passes_the_end() -> None:
    assert Budget.parse("1m", 10).progress(Clock(seconds=75.0)) == 1.0


def test_epochs_of_whole_steps_do_not_gain_one_by_rounding() -> None:
    for steps_per_epoch in (3.0, 7.0, 1600 / 32, 0.1):
        for epochs in (1, 3, 6, 10):
            budget = Budget(Span(unit="epochs", amount=epochs), steps_per_epoch)
            exact = epochs * steps_per_epoch
            assert budget.total == pytest.approx(max(round(exact), math.ceil(exact - 1e-6)))


def test_a_budget_in_epochs_makes_at_least_so_many_steps() -> None:
    assert Budget.parse("2epochs", 10.0, least_steps=150).total == 150
    assert Budget.parse("2epochs", 100.0, least_steps=150).total == 200
    assert Budget.parse("2epochs", 12.5, least_steps=150).total == 150
    assert Budget.parse("20steps", 10.0, least_steps=150).total == 20


def test_even_a_tiny_budget_is_one_step() -> None:
    assert Budget.parse("0.01epochs", 3.0).total == 1
    assert Budget.parse("0.5steps", 3.0).total == 1


# --- cadences -----------------------------------------------------------------------------------


def due(text: str, budget: Budget, clocks: list[Clock]) -> list[int]:
    cadence = Cadence.parse(text, budget)
    return [
        after.step for before, after in itertools.pairwise(clocks) if cadence.is_due(before, after)
    ]


def test_cadences_in_every_unit() -> None:
    budget = Budget.parse("100steps", steps_per_epoch=12.5)
    clocks = [Clock(step=n, tokens=64 * n, seconds=0.75 * n) for n in range(101)]
    assert due("30steps", budget, clocks) == [30, 60, 90]
    assert due("25%", budget, clocks) == [25, 50, 75, 100]
    assert due("2epochs", budget, clocks) == [25, 50, 75, 100]
    assert due("1epochs", budget, clocks) == [13, 25, 38, 50, 63, 75, 88, 100]
    assert due("1ktokens", budget, clocks) == [16, 32, 47, 63, 79, 94]
    assert due("30s", budget, clocks) == [40, 80]


def test_every_percentage_falls_due_exactly_so_often() -> None:
    for steps in (100, 1000, 2000, 977):
        budget = Budget.parse(f"{steps}steps", 10)
        clocks = [Clock(step=n) for n in range(steps + 1)]
        for percent, times in ((1, 100), (5, 20), (3, 33), (10, 10), (100, 1)):
            assert len(due(f"{percent}%", budget, clocks)) == min(times, steps)
        assert due("5%", budget, clocks)[-1] == steps


def test_a_long_pause_makes_something_due_once() -> None:
    budget = Budget.parse("1h", 10)
    cadence = Cadence.parse("2m", budget)
    assert cadence.is_due(Clock(seconds=100), Clock(seconds=1000))
    assert not cadence.is_due(Clock(seconds=1000), Clock(seconds=1001))


def test_a_resumed_run_keeps_the_rhythm() -> None:
    budget = Budget.parse("100steps", 10)
    clocks = [Clock(step=n) for n in range(101)]
    whole = due("7steps", budget, clocks)
    assert due("7steps", budget, clocks[:51]) + due("7steps", budget, clocks[50:]) == whole


def test_a_small_part_of_a_short_epoch_is_one_step() -> None:
    budget = Budget.parse("0.000001epochs", steps_per_epoch=1e-6)
    assert budget.total == 1
    assert budget.progress(Clock()) == 0
