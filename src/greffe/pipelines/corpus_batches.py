"""Rows of a packed corpus as batches of an objective, for training and validation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass

import numpy as np
import torch

from greffe.config.sections import TrainSpec
from greffe.data.batches import Batch
from greffe.data.sampler import Indices, RowSampler, permuted
from greffe.data.shards import TokenSplit
from greffe.inference.forward import device_of
from greffe.model.model import Model
from greffe.objectives.objective import LanguageObjective, RowBatch
from greffe.pipelines.fit import Evaluated
from greffe.seeding import derive, rng
from greffe.training.checkpoint import TrainingState
from greffe.training.distributed import World
from greffe.training.schedule import Budget, Cadence, Clock

VALIDATION_BATCH = 32
EVALUATION_FRACTION = 0.02
FEWEST_ROWS = 16


@dataclass(frozen=True)
class RowSource:
    """Batches of a part of a corpus; each is a pure function of (seed, step)."""

    part: TokenSplit
    objective: LanguageObjective
    context: int
    seed: int

    @property
    def rows(self) -> int:
        """Number of rows in the part."""
        return self.part.rows_total(self.context)

    def batch(self, indices: Indices, numbers: Indices, scope: str) -> Batch:
        """Return the objective's batch of these rows; `numbers` name their random streams."""
        streams = [rng(self.seed, scope, int(number)) for number in numbers]
        partners = None
        if self.objective.needs_partners:
            others = np.array([stream.integers(self.rows) for stream in streams], dtype=np.int64)
            partners = self.part.rows(others, self.context)
        packed = self.part.rows(indices, self.context)
        return self.objective.prepare(RowBatch(packed, numbers, streams, partners))

    def training(self, sampler: RowSampler, step: int, parts: int, world: World) -> list[Batch]:
        """Return this rank's parts of a step; those of all ranks are the step's global batch."""
        rows = world.shard(sampler.step(step))
        first = step * sampler.batch
        numbers = world.shard(np.arange(first, first + sampler.batch, dtype=np.int64))
        chosen = zip(np.array_split(rows, parts), np.array_split(numbers, parts), strict=True)
        return [self.batch(some, names, "corrupt") for some, names in chosen if len(some)]

    def validation(self, most: int, world: World) -> Iterator[Batch]:
        """Yield this rank's batches of at most `most` rows, always with the same tokens hidden.

        Whole batches are dealt out, so that each is computed in the same way by any rank.
        """
        count = min(most, self.rows)
        indices = permuted(
            np.arange(count, dtype=np.int64), self.rows, derive(self.seed, "validation")
        )
        starts = range(0, count, VALIDATION_BATCH)
        for start in starts[world.rank :: world.size]:
            some = indices[start : start + VALIDATION_BATCH]
            yield self.batch(some, np.arange(start, start + len(some), dtype=np.int64), "look")


def rows_per_evaluation(spec: TrainSpec, steps_per_epoch: float, state: TrainingState) -> int:
    """Return the number of validation rows: that of the evaluation before, or what time allows.

    All evaluations of a training take about EVALUATION_FRACTION of its time together; a row costs a
    third of a training row. The length of the training is estimated from its pace so far.
    """
    if (before := state.last_evaluation.get("rows")) is not None:
        return int(before)
    budget = Budget.parse(spec.budget, steps_per_epoch)
    clock = Clock(step=state.step, tokens=state.tokens, seconds=state.seconds)
    steps = budget.total * clock.step / max(budget.spent(clock), 1e-9)
    evaluations = Cadence.parse(spec.evaluate_every, budget).crossings(clock) / budget.progress(
        clock
    )
    affordable = 3 * EVALUATION_FRACTION * steps * spec.batch / max(evaluations, 1.0)
    return int(min(spec.evaluate_rows, max(FEWEST_ROWS, affordable)))


@dataclass
class _Sums:
    """Of one term of the loss, over some batches."""

    loss: float = 0.0
    count: float = 0.0
    bytes: float = 0.0
    """UTF-8 bytes of the predicted tokens; zero for terms that predict none."""


@torch.no_grad()
def evaluate_rows(
    model: Model,
    objective: LanguageObjective,
    source: RowSource,
    most: int,
    world: World,
) -> Evaluated:
    """Return mean loss, perplexity and bits per byte on held-out rows, shared out over ranks."""
    model.eval()
    device = device_of(model)
    names = list(objective.weights)
    found = {name: _Sums() for name in names}
    for batch in source.validation(most, world):
        for name, value in objective.loss(model, batch.to(device)).items():
            found[name].loss += float(value)
            found[name].count += batch.counts[name]
        for name, size in batch.target_bytes.items():
            found[name].bytes += size
    total = world.sum([number for name in names for number in astuple(found[name])])
    sums = dict(zip(names, total[0::3], strict=True))
    counts = dict(zip(names, total[1::3], strict=True))
    sizes = {name: int(size) for name, size in zip(names, total[2::3], strict=True) if size}
    means = {name: sums[name] / max(counts[name], 1.0) for name in sums}
    loss = sum(objective.weights[name] * mean for name, mean in means.items())
    metrics = {"loss": loss, "rows": min(most, source.rows)}
    line = f"validation loss {loss:.3f}"
    for name, size in sizes.items():
        prefix = f"{name}_" if len(sizes) > 1 else ""
        perplexity = math.exp(min(means[name], 700.0))
        bits = sums[name] / math.log(2) / max(size, 1)
        metrics |= {f"{prefix}perplexity": perplexity, f"{prefix}bits_per_byte": bits}
        line += f" · {prefix.replace('_', ' ')}perplexity {perplexity:.4g}, {bits:.3f} bits/byte"
    return Evaluated(score=-loss, metrics=metrics, line=line)
