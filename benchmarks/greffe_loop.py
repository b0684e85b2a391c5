"""greffe's training loop over batches in memory, as in its pipelines.

Without files, validation and checkpoints, like the other contenders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from benchmarks.settings import Precision
from benchmarks.synthetic import Ids, packed
from greffe.config.recipe import Recipe
from greffe.config.sections import TrainSpec
from greffe.data.batches import Batch
from greffe.data.tokenizer import Tokenizer
from greffe.model.model import Model, build_model
from greffe.objectives.objective import (
    LanguageObjective,
    Objective,
    RowBatch,
    language_spec,
)
from greffe.seeding import rng
from greffe.training.compute import set_up_compute
from greffe.training.device import Compute
from greffe.training.distributed import World
from greffe.training.loop import Step, train
from greffe.training.optim import build_optimizer
from greffe.training.schedule import Budget, Clock

ENDLESS = "1000000steps"


def start_greffe(threads: int) -> None:
    """Configure the process as greffe's pipelines do before training."""
    set_up_compute(threads)


def place(model: Model, precision: Precision) -> None:
    """Let a model compute on the CPU in this precision."""
    Compute(torch.device("cpu"), precision).place(model)


def language_batches(
    objective: LanguageObjective, batches: Sequence[Ids], seed: int
) -> list[Batch]:
    """Prepare rows [B, T] as batches of the objective in advance."""
    prepared = []
    for index, ids in enumerate(batches):
        numbers = np.arange(index * len(ids), (index + 1) * len(ids), dtype=np.int64)
        streams = [rng(seed, "corrupt", int(number)) for number in numbers]
        prepared.append(objective.prepare(RowBatch(packed(ids), numbers, streams)))
    return prepared


class LanguageLoop:
    """Pretraining with a recipe, one step at a time, without end."""

    def __init__(
        self,
        recipe: Recipe,
        tokenizer: Tokenizer,
        batches: Sequence[Ids],
        threads: int,
        precision: Precision,
    ) -> None:
        start_greffe(threads)
        objective = language_spec(recipe.objective).build(tokenizer, tied=recipe.model.tied)
        self.model = build_model(recipe.model, tokenizer.size, objective.heads(), recipe.seed)
        place(self.model, precision)
        parts = recipe.train.accumulation
        self.batches = language_batches(
            objective, [part for ids in batches for part in np.split(ids, parts)], recipe.seed
        )
        self._steps = steps(
            self.model,
            objective,
            build_optimizer(self.model, recipe.train, recipe.model.layers),
            lambda step: self.batches[parts * (step % len(batches)) :][:parts],
            recipe.train,
            Budget.parse(ENDLESS, len(batches)),
            recipe.seed,
        )

    def step(self) -> None:
        """Run one optimizer step."""
        assert not next(self._steps).is_skipped


def steps(
    model: Model,
    objective: Objective,
    optimizer: torch.optim.Optimizer,
    batches: Callable[[int], Sequence[Batch]],
    spec: TrainSpec,
    budget: Budget,
    seed: int,
) -> Iterator[Step]:
    """Return the loop of `greffe.training` in a single process."""
    return train(
        model,
        objective,
        optimizer,
        batches,
        spec=spec,
        budget=budget,
        seed=seed,
        start=Clock(),
        world=World(),
    )
