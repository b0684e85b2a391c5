"""A new head that begins as a linear probe of its base: probing, then fine-tuning (LP-FT).

A random head changes the base before it is of use. The probe is kept in the run's folder until the
run is finished: a training that is resumed or restarted begins with the same weights.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from greffe.baselines.linear_classifier import fit_vectors
from greffe.inference.batched import forward_rows
from greffe.inference.forward import require_finite
from greffe.model.heads.classification_head import Classification
from greffe.model.model import Model
from greffe.model.pooling import pool
from greffe.model.weights import load_weights, save_tensors
from greffe.pipelines.finetune_recipe import classification_of
from greffe.pipelines.members import Classifying
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.seeding import rng
from greffe.storage import disk_error
from greffe.training.distributed import World

MOST_ROWS = 100_000
"""Rows that a probe is fitted to: their vectors are in memory all at once."""


def probe_head(shared: Classifying, model: Model, world: World) -> None:
    """Give the head the weights of a logistic regression on what it reads of the training texts.

    They are read as in training: a window of a long text is a row like any other.
    """
    head, rows = _head(model), shared.rows
    count = min(len(rows.ids), MOST_ROWS)
    drawn = rng(shared.recipe.seed, "head").choice(len(rows.ids), count, replace=False)
    indices = np.sort(drawn)
    vectors = _read(shared, model, indices, world)
    require_finite(vectors)
    if world.is_main:
        _fit(shared, head, vectors, indices)
    for parameter in head.score.parameters():
        world.broadcast_tensor(parameter.data)


def save_probe(run: RunDirectory, model: Model) -> None:
    """Keep the head as it is now until the run is finished."""
    path = _path(run)
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise disk_error(error, path.parent) from error
    save_tensors(path, _head(model).state_dict())


def load_probe(run: RunDirectory, model: Model) -> None:
    """Give the head the weights that `save_probe` kept."""
    head = _head(model)
    head.load_state_dict(load_weights(_path(run), None, head))


def _read(
    shared: Classifying, model: Model, indices: npt.NDArray[np.int64], world: World
) -> npt.NDArray[np.float64]:
    """Return what the head reads of some rows [N, columns]; each rank computes some of them."""
    head = _head(model)

    def read(ids: Tensor, lengths: Tensor | None) -> Tensor:
        hidden = model.base(ids, causal=shared.design.causal, lengths=lengths)
        return pool(hidden, lengths, head.pooler, model.base.embedding(ids))

    columns, own = head.score.in_features, slice(world.rank, None, world.size)
    rows = [shared.rows.ids[index] for index in indices[own]]
    vectors = np.zeros((len(indices), columns))
    vectors[own] = forward_rows(model, rows, read, columns, pad=shared.tokenizer.pad)
    return world.sum_array(vectors)


def _fit(
    shared: Classifying,
    head: Classification,
    vectors: npt.NDArray[np.float64],
    indices: npt.NDArray[np.int64],
) -> None:
    rows, examples = shared.rows, shared.parts.train
    texts = [examples[number].text for number in rows.texts[indices]]
    classes, seed = len(shared.parts.labels), shared.recipe.seed
    choice, solution = fit_vectors(vectors, texts, rows.targets[indices], classes, seed)
    bias = solution.bias
    if classification_of(shared.recipe).class_weights == "balanced":
        # As if all classes were equally frequent.
        bias = bias - np.log(np.bincount(rows.targets, minlength=classes))
    with torch.no_grad():
        head.score.weight.copy_(torch.from_numpy(solution.weights.T))
        head.score.bias.copy_(torch.from_numpy(bias))
    found = "too few texts to cross-validate"
    if choice.accuracy is not None:
        found = f"cross-validated accuracy {choice.accuracy:.1%}"
    notice(f"head: a linear probe of {len(texts):,} rows, {found}")


def _head(model: Model) -> Classification:
    head = model.heads["classification"]
    assert isinstance(head, Classification)
    return head


def _path(run: RunDirectory) -> Path:
    return run.checkpoints_path / "probe.safetensors"
