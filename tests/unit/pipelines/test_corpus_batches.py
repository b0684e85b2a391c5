"""Validation rows: a small fraction of the time, always the same, shared out over ranks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from greffe.config.sections import TrainSpec
from greffe.data.batches import Batch
from greffe.pipelines.corpus_batches import FEWEST_ROWS, RowSource, rows_per_evaluation
from greffe.training.checkpoint import TrainingState
from greffe.training.distributed import World


def cost(spec: TrainSpec, state: TrainingState, steps: int, evaluations: int) -> float:
    """Return the fraction of the time for evaluations; a row costs a third of a training row."""
    return evaluations * rows_per_evaluation(spec, 1000.0, state) / 3 / (steps * spec.batch)


@pytest.mark.parametrize("steps", [1000, 4000, 100_000])
@pytest.mark.parametrize("every", [2, 5, 20])
def test_evaluations_take_less_than_three_percent_of_the_time(steps: int, every: int) -> None:
    spec = TrainSpec(
        budget=f"{steps}steps", batch=16, evaluate_every=f"{every}%", evaluate_rows=5000
    )
    first = TrainingState(step=steps * every // 100, tokens=1, seconds=1.0)
    assert cost(spec, first, steps, 100 // every) < 0.03


@pytest.mark.parametrize("seconds", [120, 1200])
def test_steps_of_a_budget_in_time_are_estimated_from_the_speed_so_far(seconds: int) -> None:
    spec = TrainSpec(budget=f"{seconds}s", batch=16, evaluate_rows=5000)
    # 20 steps took a twentieth of the time, so there will be 400.
    state = TrainingState(step=20, tokens=20 * 4096, seconds=seconds / 20)
    assert 0.01 < cost(spec, state, 400, 20) < 0.03


def test_a_budget_in_tokens() -> None:
    spec = TrainSpec(budget="1Mtokens", batch=16, evaluate_rows=5000)
    state = TrainingState(step=50, tokens=50_000, seconds=3.0)
    assert 0.01 < cost(spec, state, 1000, 20) < 0.03


def test_the_number_of_rows_has_limits() -> None:
    long = TrainSpec(budget="100000steps", evaluate_rows=128)
    assert rows_per_evaluation(long, 10.0, TrainingState(step=5000, seconds=1.0)) == 128
    short = TrainSpec(budget="20steps", batch=1)
    assert rows_per_evaluation(short, 10.0, TrainingState(step=1, seconds=1.0)) == FEWEST_ROWS
    fewer = TrainSpec(budget="20steps", batch=1, evaluate_rows=4)
    assert rows_per_evaluation(fewer, 10.0, TrainingState(step=1, seconds=1.0)) == 4


def test_later_evaluations_use_the_same_number_of_rows() -> None:
    spec = TrainSpec(budget="10m", evaluate_rows=5000)
    first = TrainingState(step=10, seconds=30.0)
    rows = rows_per_evaluation(spec, 10.0, first)
    later = TrainingState(step=500, seconds=60.0, last_evaluation={"loss": 1.0, "rows": rows})
    assert rows_per_evaluation(spec, 10.0, later) == rows
    assert rows_per_evaluation(spec, 10.0, later.model_copy(update={"last_evaluation": {}})) != rows


class Numbered(RowSource):
    """Batches that only know which rows they are of."""

    rows = 150

    def batch(self, indices: np.ndarray, numbers: np.ndarray, scope: str) -> Batch:
        return Batch(ids=torch.from_numpy(np.stack([indices, numbers])), counts={})


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_ranks_share_the_batches_of_a_validation(size: int) -> None:
    source = Numbered(None, None, 8, seed=3)
    whole = [batch.ids.tolist() for batch in source.validation(140, World())]
    assert sum(len(indices) for indices, _ in whole) == 140
    shares = [list(source.validation(140, World(rank, size))) for rank in range(size)]
    dealt = [shares[number % size].pop(0).ids.tolist() for number in range(len(whole))]
    assert dealt == whole and not any(shares)
