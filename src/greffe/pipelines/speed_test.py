"""Speed test: how fast this machine trains, from a few seconds of real steps of a model."""

from __future__ import annotations

import time
from statistics import median

import torch

from greffe.config.options import DeviceName, PrecisionName
from greffe.config.recipe_files import load_recipe
from greffe.data.batches import Batch
from greffe.model.arithmetic import (
    TRAINING,
    base_operations,
    matrix_products,
    vocabulary_operations,
)
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.model import build_model
from greffe.objectives.objective import vocabulary_term
from greffe.pipelines.autosize import SPEED_TEST_WIDTH
from greffe.progress import notice, quiet
from greffe.training.device import choose_compute

ROWS, LAYERS, VOCAB = 8, 2, 8_000


def training_speed(device: DeviceName, precision: PrecisionName, seconds: float = 3.0) -> float:
    """Return the operations per second of forward and backward passes, after a warm-up.

    They are computed as a training would be with this device and precision.
    """
    notice(f"speed test: {seconds:g} seconds of training steps")
    spec = load_recipe("small").model.model_copy(update={"layers": LAYERS})
    assert spec.width == SPEED_TEST_WIDTH
    model = build_model(spec, VOCAB, {"masked_token": MaskedTokenHead()}, seed=0)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(VOCAB, (ROWS, spec.context), generator=generator)
    indices = torch.arange(0, ids.numel(), 7)
    products = matrix_products(spec, ids.numel(), vocab=VOCAB, predicted=len(indices))
    with quiet():  # the training says what it chooses
        compute = choose_compute(device, precision, products, what="speed test")
    compute.place(model)
    ids, indices = ids.to(compute.device), indices.to(compute.device)
    batch = Batch(
        ids=ids, counts={}, indices=indices, targets=ids.reshape(-1)[indices], tokens=ids.numel()
    )
    operations = base_operations(spec, [spec.context] * ROWS, causal=False)
    operations += vocabulary_operations(spec.width, VOCAB, len(indices), transform=True)

    def step() -> float:
        start = time.perf_counter()
        loss = vocabulary_term(model, "masked_token", batch, causal=False)
        loss.backward()  # type: ignore[no-untyped-call]
        float(loss.detach())  # waits for a GPU
        model.zero_grad(set_to_none=True)
        return time.perf_counter() - start

    step()
    times = [step()]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        times.append(step())
    return TRAINING * operations / median(times)
