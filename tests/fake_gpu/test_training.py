"""Whole training steps with every objective and every position scheme, every tensor on a GPU."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch
from tests.fake_gpu.conftest import NAME, FakeGpu, Waiting

from greffe.config.components import PositionSpec
from greffe.config.families import family_choices
from greffe.config.sections import Classification, ModelSpec, Pooler, TrainSpec
from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.kernels import device_vocabulary_loss
from greffe.model.heads.classification_head import ClassificationHead
from greffe.objectives.classification import ClassificationObjective
from greffe.objectives.objective import LanguageSpec, Objective, RowBatch
from greffe.seeding import rng
from greffe.training.distributed import World
from greffe.training.loop import train
from greffe.training.optim import build_optimizer
from greffe.training.schedule import Budget, Clock

CONTEXT, ROWS = 24, 6
POSITIONS = sorted(PositionSpec.kinds())


def spec_of(position: str) -> ModelSpec:
    return ModelSpec(
        width=16,
        layers=2,
        heads=2,
        feed_forward=32,
        context=CONTEXT,
        dropout=0.1,
        position={"kind": position},
    )


def rows_of(tokenizer: Tokenizer) -> RowBatch:
    """Rows of two documents, the last one padded."""
    random = rng(0, "fake rows")
    ids = random.integers(10, tokenizer.size, (ROWS, CONTEXT)).astype(np.int64)
    documents = np.repeat([[0] * 10 + [1] * (CONTEXT - 10)], ROWS, axis=0).astype(np.int64)
    positions = np.concatenate([np.arange(10), np.arange(CONTEXT - 10)])[None].repeat(ROWS, 0)
    lengths = np.full(ROWS, CONTEXT, np.int64)
    lengths[-1] = CONTEXT - 5
    first = np.arange(ROWS, dtype=np.int64) * 2
    packed = PackedRows(
        ids=ids, lengths=lengths, documents=documents, positions=positions, first_document=first
    )
    streams = [rng(0, "stream", number) for number in range(ROWS)]
    return RowBatch(packed, np.arange(ROWS, dtype=np.int64), streams, partners=packed)


def run(gpu: FakeGpu, objective: Objective, heads, spec: ModelSpec, batches, vocab, dtype) -> None:
    """Three steps, the second of which trains more of the model than the first."""
    model = gpu.model(spec, vocab, heads, dtype)
    train_spec = TrainSpec(batch=ROWS, gradual_unfreezing=True, clip=1.0)
    optimizer = build_optimizer(model, train_spec, spec.layers)
    steps = train(
        model,
        objective,
        optimizer,
        lambda step: [gpu.host(batch) for batch in batches],
        spec=train_spec,
        budget=Budget.parse("3steps", steps_per_epoch=1),
        seed=0,
        start=Clock(),
        world=World(),
    )
    next(steps)  # what is copied once, is copied now
    with Waiting(refuse=True):
        made = list(steps)
    assert [step.clock.step for step in made] == [2, 3]
    assert not made[-1].outcome.is_read
    state = optimizer.state[model.base.blocks[-1].attention.out.weight]
    assert {tensor.device.type for tensor in state.values()} == {NAME}


@pytest.mark.parametrize("kind", sorted(LanguageSpec.kinds()))
@pytest.mark.parametrize(
    ("position", "dtype"),
    [*((position, torch.bfloat16) for position in POSITIONS), ("rotary", None)],
)
def test_pretraining(
    tiny_tokenizer: Tokenizer, kind: str, position: str, dtype: torch.dtype | None, request
) -> None:
    objective = LanguageSpec.of_kind(kind).build(tiny_tokenizer, tied=True)
    batches = [objective.prepare(rows_of(tiny_tokenizer)) for _ in range(2)]
    gpu = request.getfixturevalue("gpu")
    heads, spec = objective.heads(), spec_of(position)
    run(gpu, objective, heads, spec, batches, tiny_tokenizer.size, dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, None])
@pytest.mark.parametrize(
    ("family", "kind", "changes"),
    [
        ("gpt2", "causal", {}),
        ("llama", "causal", {"kv_heads": 1}),
        ("modernbert", "masked", {"window": 3, "layers": 3, "global_every": 2}),
    ],
)
def test_pretraining_other_families(
    tiny_tokenizer: Tokenizer, family: str, kind: str, changes, dtype, request
) -> None:
    objective = LanguageSpec.of_kind(kind).build(tiny_tokenizer, tied=True)
    batches = [objective.prepare(rows_of(tiny_tokenizer)) for _ in range(2)]
    fields = {**spec_of("rotary").model_dump(mode="json"), **family_choices(family), **changes}
    gpu = request.getfixturevalue("gpu")
    spec = ModelSpec.model_validate(fields)
    run(gpu, objective, objective.heads(), spec, batches, tiny_tokenizer.size, dtype)


def test_a_vocabulary_loss_in_several_chunks(tiny_tokenizer, monkeypatch, request) -> None:
    monkeypatch.setattr(device_vocabulary_loss, "CHUNK_BYTES", 4 * tiny_tokenizer.size * 7)
    objective = LanguageSpec.of_kind("causal").build(tiny_tokenizer, tied=False)
    batches = [objective.prepare(rows_of(tiny_tokenizer))]
    gpu = request.getfixturevalue("gpu")
    heads, spec = objective.heads(), spec_of("rotary")
    # torch cannot compute a chunk again within the backward pass of a device that Python defines.
    monkeypatch.setattr(
        device_vocabulary_loss, "checkpoint", lambda work, *given, **_: work(*given)
    )
    run(gpu, objective, heads, spec, batches, tiny_tokenizer.size, None)


@pytest.mark.parametrize("pooler", get_args(Pooler))
@pytest.mark.parametrize("causal", [True, False])
def test_fine_tuning(pooler, causal: bool, request) -> None:
    spec = Classification(class_weights="balanced", label_smoothing=0.1)
    objective = ClassificationObjective(spec, [3, 5, 2], causal=causal, pad=1)
    texts = [np.arange(5, 5 + length) for length in (9, 4, 12)]
    batches: list[Batch] = [objective.prepare(texts, [0, 2, 1]), objective.prepare(texts[:1], [1])]
    heads = {"classification": ClassificationHead(classes=3, pooler=pooler, dropout=0.1)}
    gpu = request.getfixturevalue("gpu")
    objective.class_weights = gpu.mode.from_tensor(objective.class_weights)
    objective._placed_weights = objective.class_weights
    run(gpu, objective, heads, spec_of("learned"), batches, 300, torch.bfloat16)
