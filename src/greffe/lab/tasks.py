"""What the small tasks of question 1 share: a tiny model of the lab's architecture, its training.

Knows rows of token ids; a task knows their meaning and what is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from greffe.config.components import HeadSpec, PositionSpec
from greffe.config.sections import ModelSpec, TrainSpec
from greffe.config.spec import Spec
from greffe.data.batches import Batch
from greffe.model.model import Model, build_model
from greffe.model.positions.none import NoPosition
from greffe.model.positions.sinusoidal import Sinusoidal
from greffe.objectives.objective import Objective, vocabulary_term
from greffe.samples.toy import MarkovLanguage
from greffe.seeding import rng
from greffe.training.distributed import World
from greffe.training.loop import train
from greffe.training.optim import build_optimizer
from greffe.training.schedule import Budget, Clock

BATCH = 32
PREDICTIONS = "next_token"


class TaskSize(Spec):
    """Sizes of the tasks."""

    seeds: int = 4
    mask_steps: int = 250
    order_steps: int = 120
    chain_steps: int = 250
    rows: int = 4_000
    """Training rows of an artificial language."""
    test_rows: int = 200


def tiny_model(
    vocab: int,
    context: int,
    heads: Mapping[str, HeadSpec],
    seed: int,
    *,
    has_positions: bool = True,
) -> Model:
    """Build a model of the lab's architecture with two layers and width 32."""
    position: PositionSpec = Sinusoidal() if has_positions else NoPosition()
    spec = ModelSpec(
        width=32,
        layers=2,
        heads=2,
        feed_forward=64,
        context=context,
        position=position,
        norm="post",
        activation="relu",
        scale_embedding=True,
        tied=False,
    )
    return build_model(spec, vocab, heads, seed)


class NextWord(Objective):
    """Predict the next word at every position but the last, with or without the square mask."""

    def __init__(self, *, causal: bool) -> None:
        self.causal = causal

    @property
    def weights(self) -> Mapping[str, float]:
        return {PREDICTIONS: 1.0}

    def prepare(self, rows: Tensor) -> Batch:
        """Return a batch of rows [B, T]; the last word is an input, visible without the mask."""
        count, width = rows.shape
        indices = torch.arange(count * width).view(count, width)[:, :-1].reshape(-1)
        targets = rows[:, 1:].reshape(-1)
        return Batch(
            ids=rows,
            counts={PREDICTIONS: len(targets)},
            targets=targets,
            indices=indices,
            tokens=count * width,
        )

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        return {PREDICTIONS: vocabulary_term(model, PREDICTIONS, batch, causal=self.causal)}

    @torch.no_grad()
    def bits(self, model: Model, rows: Tensor) -> float:
        """Return mean bits per word over rows [B, T], the whole row visible."""
        batch = self.prepare(rows)
        model.eval()
        return float(self.loss(model, batch)[PREDICTIONS]) / batch.counts[PREDICTIONS] / math.log(2)


def fit(
    model: Model,
    objective: Objective,
    batches: Callable[[int], Batch],
    *,
    steps: int,
    seed: int,
    lr: float = 1e-2,
) -> Iterator[float]:
    """Train, and yield the loss of each step."""
    spec = TrainSpec(budget=f"{steps}steps", batch=BATCH, lr=lr, weight_decay=0.0)
    optimizer = build_optimizer(model, spec, model.spec.layers)
    for step in train(
        model,
        objective,
        optimizer,
        lambda number: [batches(number)],
        spec=spec,
        budget=Budget.parse(spec.budget, steps),
        seed=seed,
        start=Clock(),
        world=World(),
    ):
        yield step.loss


def language_rows(language: MarkovLanguage, count: int, length: int, seed: int) -> Tensor:
    """Return documents of an artificial language as word ids [count, length]."""
    number_of = {word: number for number, word in enumerate(language.words)}
    documents = language.documents(count, seed, length=length)
    return torch.tensor([[number_of[word] for word in text.split()] for text in documents])


def best_bits(language: MarkovLanguage, rows: Tensor) -> float:
    """Return bits per word of rows [B, T] for a perfect model that sees the words before."""
    words, order = len(language.words), language.order
    starts = language.stationary.reshape((words,) * order)
    columns = rows.numpy().T  # [T, B]
    probabilities = []
    for position in range(1, len(columns)):
        known = columns[max(0, position - order) : position]
        if position < order:  # rows start from the stationary distribution
            joint = starts.sum(axis=tuple(range(position + 1, order)))
            table = joint / joint.sum(axis=-1, keepdims=True)
        else:
            table = language.next_word.reshape((words,) * (order + 1))
        probabilities.append(table[(*known, columns[position])])
    return float(-np.log2(np.stack(probabilities)).mean())


def drawn(rows: Tensor, seed: int, step: int) -> Tensor:
    """Return the rows of one step [BATCH, length]."""
    return rows[torch.from_numpy(rng(seed, "lab rows", step).integers(len(rows), size=BATCH))]


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread: matrix products this small are slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
