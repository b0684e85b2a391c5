"""Small models, toy batches and a `train` with defaults, for the loop and its optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch

from greffe.config.sections import Classification, ModelSpec, TrainSpec
from greffe.data.batches import Batch
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import Model, build_model
from greffe.objectives.classification import ClassificationObjective
from greffe.objectives.objective import Objective
from greffe.seeding import rng
from greffe.training.distributed import World
from greffe.training.loop import Step, train
from greffe.training.optim import build_optimizer
from greffe.training.schedule import Budget, Clock

LAYERS = 3
VOCAB = 300


class Trainer:
    """A model, an objective, its batches and one optimizer: `run(10)` makes ten steps."""

    def __init__(
        self,
        spec: TrainSpec,
        *,
        dropout: float = 0.0,
        steps_per_epoch: float = 4,
    ) -> None:
        self.spec = spec
        shape = ModelSpec(
            width=16,
            layers=LAYERS,
            heads=2,
            feed_forward=32,
            context=16,
            dropout=dropout,
            position={"kind": "learned"},
        )
        head = ClassificationHead(classes=3, dropout=dropout)
        self.model: Model = build_model(shape, VOCAB, {"classification": head}, seed=2)
        self.objective: Objective = ClassificationObjective(
            Classification(class_weights="balanced"), [5, 10, 25], causal=False, pad=1
        )
        self.optimizer: torch.optim.Optimizer = build_optimizer(self.model, spec, LAYERS)
        self.budget = Budget.parse(spec.budget, steps_per_epoch)
        self.clock = Clock()

    def batches(self, step: int) -> Sequence[Batch]:
        """Eight texts per step in as many micro-batches as the recipe says."""
        source = rng(0, "toy", step)
        assert isinstance(self.objective, ClassificationObjective)
        texts = [source.integers(5, VOCAB, size=source.integers(3, 14)) for _ in range(8)]
        labels = source.integers(3, size=8).tolist()
        return [
            self.objective.prepare([texts[i] for i in part], [labels[i] for i in part])
            for part in np.array_split(np.arange(8), self.spec.accumulation)
        ]

    def steps(self, **choices: Any) -> Iterator[Step]:
        """The loop from where the clock stands."""
        given = {"seed": 0, "start": self.clock, "world": World(), **choices}
        return train(
            self.model,
            self.objective,
            self.optimizer,
            self.batches,
            spec=self.spec,
            budget=self.budget,
            **given,
        )

    def run(self, count: int, **choices: Any) -> list[Step]:
        """At most `count` steps."""
        made = list(islice(self.steps(**choices), count))
        self.clock = made[-1].clock
        return made

    def weights(self) -> dict[str, torch.Tensor]:
        """A copy of all tensors."""
        return {name: value.clone() for name, value in self.model.state_dict().items()}

    def moved(self, before: dict[str, torch.Tensor]) -> set[str]:
        """Names of tensors that are not bit for bit what they were."""
        now = self.model.state_dict()
        return {name for name in now if not torch.equal(now[name], before[name])}


MakeTrainer = Callable[..., Trainer]


@pytest.fixture
def trainer() -> MakeTrainer:
    """trainer(lr=1e-2, accumulation=4): a Trainer with these choices of [train]."""

    def make(dropout: float = 0.0, steps_per_epoch: float = 4, **choices: Any) -> Trainer:
        plain = {"budget": "100steps", "warmup": 0.0, "schedule": "constant", "lr": 1e-2}
        spec = TrainSpec(**{**plain, "batch": 8, **choices})
        return Trainer(spec, dropout=dropout, steps_per_epoch=steps_per_epoch)

    return make
