"""Masked training of the small model in two processes of one thread, and in one.

torchrun starts the processes, which share each batch of 16 rows and sum their gradients. This file
is also such a process: `python -m benchmarks.cases.ranks PRECISION full|quick` trains some steps;
the first rank prints the tokens per second as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from statistics import median
from typing import cast

import numpy as np

from benchmarks.cases import GREFFE, GREFFE_HALF, ONE_RANK, ONE_RANK_HALF
from benchmarks.cases.masked import small_recipe, small_rows
from benchmarks.settings import Precision, Settings
from benchmarks.timing import Contender, Sample

WARMUP, STEPS = 2, 8


def processes(settings: Settings, ranks: int, precision: Precision) -> Contender:
    """Build the contender that starts so many processes in every round."""
    size = "quick" if settings.quick else "full"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*torchrun, f"--nproc-per-node={ranks}", "-m", __name__, precision, size]

    def run(_: int) -> Sample:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        finished = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=environment
        )
        return Sample(json.loads(finished.stdout)["tokens_per_second"])

    return run


CONTENDERS = {
    GREFFE: partial(processes, ranks=2, precision="fp32"),
    GREFFE_HALF: partial(processes, ranks=2, precision="bf16"),
    ONE_RANK: partial(processes, ranks=1, precision="fp32"),
    ONE_RANK_HALF: partial(processes, ranks=1, precision="bf16"),
}


def main() -> None:
    """Train as one rank of several; print the speed of all on the first."""
    import torch

    from benchmarks.greffe_loop import ENDLESS, language_batches, place, start_greffe
    from benchmarks.synthetic import tokenizer_of
    from greffe.model.model import build_model
    from greffe.objectives.objective import language_spec
    from greffe.training.distributed import World
    from greffe.training.loop import train
    from greffe.training.optim import build_optimizer
    from greffe.training.schedule import Budget, Clock

    precision, size = sys.argv[1:]
    torch.set_num_threads(1)
    start_greffe(1)
    world = World.join()
    recipe = small_recipe(size == "quick")
    tokenizer = tokenizer_of(recipe.tokenizer.vocab)
    objective = language_spec(recipe.objective).build(tokenizer, tied=recipe.model.tied)
    model = build_model(recipe.model, tokenizer.size, objective.heads(), recipe.seed)
    place(model, cast(Precision, precision))
    own = world.shard(np.arange(recipe.train.batch))
    batches = language_batches(objective, [rows[own] for rows in small_rows(recipe)], recipe.seed)
    steps = train(
        model,
        objective,
        build_optimizer(model, recipe.train, recipe.model.layers),
        lambda step: [batches[step % len(batches)]],
        spec=recipe.train,
        budget=Budget.parse(ENDLESS, len(batches)),
        seed=recipe.seed,
        start=Clock(),
        world=world,
    )
    speeds = []
    for number in range(WARMUP + STEPS):
        began = time.perf_counter()
        step = next(steps)
        if number >= WARMUP:
            speeds.append(step.tokens / (time.perf_counter() - began))
    if world.is_main:
        print(json.dumps({"tokens_per_second": median(speeds)}))
    world.barrier()


if __name__ == "__main__":
    main()
