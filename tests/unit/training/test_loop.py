"""The loop: exact steps, the same in parts and after a restart, and safe from broken losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import islice, pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from greffe.data.batches import Batch
from greffe.errors import TrainingError
from greffe.model.model import Model
from greffe.objectives.objective import Objective
from greffe.training.optim import level_of
from greffe.training.schedule import Clock

Make = Callable[..., Any]
LAYERS = 3


# --- steps --------------------------------------------------------------------------------------


def test_training_learns_and_says_how(trainer: Make) -> None:
    made = trainer(budget="30steps")
    fixed = made.batches(0)
    made.batches = lambda step: fixed
    steps = made.run(99)
    assert len(steps) == 30
    assert steps[0].loss == pytest.approx(math.log(3), abs=0.05)
    assert steps[-1].loss < 0.2
    assert [step.clock.step for step in steps] == list(range(1, 31))
    assert [step.before.step for step in steps] == list(range(30))
    assert steps[-1].clock.tokens == sum(step.tokens for step in steps) == 30 * steps[0].tokens
    assert all(a.clock.seconds < b.clock.seconds for a, b in pairwise(steps))
    assert not any(step.is_skipped or step.is_interrupted for step in steps)
    assert all(step.gradient_norm > 0 for step in steps)


def test_the_schedule_is_what_the_optimizer_gets(trainer: Make) -> None:
    made = trainer(budget="10steps", warmup=0.5, schedule="linear", lr=1e-2, layer_decay=0.5)
    rates = []
    for step in made.steps():
        rates.append(step.lr)
        assert made.optimizer.param_groups[-1]["lr"] == step.lr
        assert made.optimizer.param_groups[0]["lr"] == pytest.approx(step.lr / 16)
    expected = [0.01, 0.2, 0.4, 0.6, 0.8, 1, 0.8, 0.6, 0.4, 0.2]
    assert rates == pytest.approx([1e-2 * factor for factor in expected])


def test_a_budget_in_seconds_ends_with_its_schedule_complete(
    trainer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trainer(budget="10s", schedule="linear", lr=1.0)
    ticks = iter(range(0, 1000, 2))  # every look at the clock is two seconds later
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))
    steps = made.run(99)
    assert [step.clock.seconds for step in steps] == [2, 4, 6, 8, 10]
    assert [step.lr for step in steps] == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2])


def test_time_between_steps_counts_too(trainer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluation and checkpoints are part of a budget in minutes."""
    made = trainer(budget="60s")
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    count = 0
    for _ in made.steps():
        now[0] += 25.0
        count += 1
    assert count == 4


def test_a_budget_in_tokens(trainer: Make) -> None:
    made = trainer(budget="200tokens")
    steps = made.run(99)
    assert steps[-2].clock.tokens < 200 <= steps[-1].clock.tokens


def test_a_budget_already_used_up_makes_no_step(trainer: Make) -> None:
    made = trainer(budget="5steps")
    before = made.weights()
    assert list(made.steps(start=Clock(step=5))) == []
    assert made.moved(before) == set()


def test_the_mean_is_over_weights_of_targets(trainer: Make) -> None:
    made = trainer()
    (batch,) = made.batches(0)
    total = float(made.objective.loss(made.model, batch)["classification"].detach())
    (step,) = made.run(1)
    assert step.loss == pytest.approx(total / batch.counts["classification"], rel=1e-6)
    assert step.terms == {"classification": step.loss}


# --- parts and restarts -------------------------------------------------------------------------


def test_a_step_in_parts_is_the_same_step(trainer: Make) -> None:
    whole, parts = trainer(accumulation=1, lr=1e-3), trainer(accumulation=4, lr=1e-3)
    assert len(parts.batches(0)) == 4
    for first, second in zip(whole.run(10), parts.run(10), strict=True):
        assert second.loss == pytest.approx(first.loss, rel=1e-4)
        assert second.gradient_norm == pytest.approx(first.gradient_norm, rel=1e-3)
        assert second.tokens == first.tokens
    before = parts.weights()
    for name, value in whole.weights().items():
        assert torch.allclose(value, before[name], rtol=1e-3, atol=2e-5), name


def test_the_same_twice(trainer: Make) -> None:
    first, second = trainer(dropout=0.3), trainer(dropout=0.3)
    assert [s.loss for s in first.run(5)] == [s.loss for s in second.run(5)]
    assert first.moved(second.weights()) == set()


def test_dropout_follows_from_seed_and_step_alone(trainer: Make) -> None:
    """A restart at step 3 drops what the first run dropped there, whatever was drawn before."""
    through, broken = trainer(dropout=0.3), trainer(dropout=0.3)
    losses = [step.loss for step in through.run(6)]
    found = [step.loss for step in broken.run(3)]
    torch.manual_seed(12345)
    torch.rand(77)
    found += [step.loss for step in broken.run(3)]
    assert found == losses
    assert through.moved(broken.weights()) == set()
    other = trainer(dropout=0.3)
    assert [step.loss for step in other.run(6, seed=1)] != losses


def test_every_step_has_dropout_of_its_own(trainer: Make) -> None:
    made = trainer(dropout=0.5, lr=1e-15)
    fixed = made.batches(0)
    made.batches = lambda step: fixed
    assert len({step.loss for step in made.run(5)}) == 5


def test_parts_have_dropout_of_their_own(trainer: Make) -> None:
    made = trainer(dropout=0.5, accumulation=2)
    (batch, _) = made.batches(0)
    made.batches = lambda step: [batch, batch]
    losses: list[float] = []
    plain = made.objective.loss

    def loss(model: Model, part: Batch) -> dict[str, Tensor]:
        found: dict[str, Tensor] = plain(model, part)
        losses.append(float(found["classification"].detach()))
        return found

    made.objective.loss = loss
    made.run(1)
    assert losses[0] != losses[1]


def test_a_caller_that_evaluates_between_steps_changes_nothing(trainer: Make) -> None:
    plain, looking = trainer(dropout=0.3), trainer(dropout=0.3)
    expected = [step.loss for step in plain.run(4)]
    found = []
    for step in islice(looking.steps(), 4):
        found.append(step.loss)
        looking.model.eval()
        torch.rand(3)
    assert found == expected


# --- freezing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("freeze", "level"), [(0, 0), (1, 1), (2, 2), ("base", 4)])
def test_frozen_tensors_are_not_touched(trainer: Make, freeze: Any, level: int) -> None:
    made = trainer(freeze=freeze, weight_decay=0.5)
    before = made.weights()
    made.run(3)
    assert made.moved(before) == {name for name in before if level_of(name, LAYERS) >= level}
    assert all(
        (p in made.optimizer.state) == (level_of(name, LAYERS) >= level)
        for name, p in made.model.named_parameters()
    )


def test_gradual_unfreezing_adds_a_block_an_epoch(trainer: Make) -> None:
    made = trainer(gradual_unfreezing=True, steps_per_epoch=2)
    for epoch in range(6):
        before = made.weights()
        made.run(2)
        lowest = max(0, LAYERS + 1 - epoch)
        assert made.moved(before) == {name for name in before if level_of(name, LAYERS) >= lowest}


# --- clipping -----------------------------------------------------------------------------------


def test_clipping_limits_the_gradient_and_reports_the_true_norm(trainer: Make) -> None:
    plain, clipped = trainer(clip=0.0), trainer(clip=1e-3)
    (free,), (held,) = plain.run(1), clipped.run(1)
    assert held.gradient_norm == pytest.approx(free.gradient_norm)

    def norm(made: Any) -> float:
        return math.sqrt(sum(float(p.grad.square().sum()) for p in made.model.parameters()))

    assert norm(plain) == pytest.approx(free.gradient_norm, rel=1e-5)
    assert norm(clipped) == pytest.approx(1e-3, rel=1e-2)


# --- losses that are not finite -----------------------------------------------------------------


class Broken(Objective):
    """Another objective whose loss or gradient is not finite at some calls."""

    directions = ("bidirectional",)

    def __init__(self, inner: Objective, calls: set[int], kind: str) -> None:
        self.inner = inner
        self.calls = calls
        self.kind = kind
        self.call = 0

    @property
    def weights(self) -> Mapping[str, float]:
        return self.inner.weights

    def prepare(self, *rows: Any) -> Any:
        return self.inner.prepare(*rows)  # type: ignore[attr-defined]

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        found = self.inner.loss(model, batch)
        self.call += 1
        if self.call - 1 not in self.calls:
            return found
        if self.kind == "gradient":  # finite value, infinite slope
            zero = model.base.embedding.weight.sum() * 0.0
            return {name: value + zero.abs().sqrt() for name, value in found.items()}
        return {name: value * float(self.kind) for name, value in found.items()}


def break_at(made: Any, calls: set[int], kind: str = "nan") -> None:
    inner = made.objective
    made.objective = Broken(inner, calls, kind)
    plain = type(made).batches

    def batches(step: int) -> Any:
        made.objective, broken = inner, made.objective
        try:
            return plain(made, step)
        finally:
            made.objective = broken

    made.batches = batches


@pytest.mark.parametrize("kind", ["nan", "inf", "gradient"])
def test_a_broken_step_is_skipped_and_counted(trainer: Make, kind: str) -> None:
    made = trainer(budget="6steps", weight_decay=0.5)
    break_at(made, {1, 2, 4}, kind)
    weights, steps = [made.weights()], []
    for step in made.steps():
        weights.append(made.weights())
        steps.append(step)
    assert [step.is_skipped for step in steps] == [False, True, True, False, True, False]
    assert [step.skipped_in_a_row for step in steps] == [0, 1, 2, 0, 1, 0]
    for number, step in enumerate(steps):
        is_same = all(
            torch.equal(weights[number][name], weights[number + 1][name]) for name in weights[0]
        )
        assert is_same == step.is_skipped
    assert all(bool(torch.isfinite(value).all()) for value in weights[-1].values())
    moments = [value for state in made.optimizer.state.values() for value in state.values()]
    assert all(bool(torch.isfinite(value).all()) for value in moments)


def test_one_broken_part_skips_the_whole_step(trainer: Make) -> None:
    made = trainer(budget="2steps", accumulation=4)
    break_at(made, {2})
    assert [step.is_skipped for step in made.run(9)] == [True, False]


def test_too_many_broken_steps_end_the_run(trainer: Make) -> None:
    made = trainer(budget="20steps", nonfinite_limit=3)
    break_at(made, {1, *range(3, 99)})
    counts = []
    with pytest.raises(TrainingError, match="3 steps in a row") as caught:
        for step in made.steps():
            counts.append(step.skipped_in_a_row)
    # The caller sees the last step before the error comes, and can save the state.
    assert counts == [0, 1, 0, 1, 2, 3]
    assert "step 6" in str(caught.value)
    assert "train.lr=0.003" in str(caught.value)


def test_the_count_continues_after_a_restart(trainer: Make) -> None:
    made = trainer(nonfinite_limit=3)
    break_at(made, set(range(99)))
    loop = made.steps(skipped_in_a_row=2)
    assert next(loop).skipped_in_a_row == 3
    with pytest.raises(TrainingError):
        next(loop)


# --- stopping -----------------------------------------------------------------------------------


def test_an_interruption_is_reported_with_its_step(trainer: Make) -> None:
    made = trainer()
    flag = [False]
    loop = made.steps(is_interrupted=lambda: flag[0])
    assert not next(loop).is_interrupted
    flag[0] = True
    step = next(loop)
    assert step.is_interrupted and step.clock.step == 2
