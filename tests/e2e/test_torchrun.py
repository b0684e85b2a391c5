"""Two processes under torchrun do what one does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

import greffe
from greffe.progress import quiet

CHOICES = ["train.threads=1", "train.evaluate_every=4steps"]


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["masked", "hybrid"])
def test_two_ranks_end_where_one_does(world, tmp_path, objective):
    with quiet():
        alone = greffe.pretrain(
            world.corpus,
            tmp_path / "one",
            recipe="tiny",
            objective=objective,
            budget="8steps",
            changes=CHOICES,
        )
    changes = [word for change in CHOICES for word in ("--set", change)]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
            *("--standalone", "-m", "greffe", "pretrain", str(world.corpus)),
            *("--recipe", "tiny", "--objective", objective, "--budget", "8steps"),
            *("--out", str(tmp_path / "two"), *changes),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    both = greffe.load(tmp_path / "two")
    first, second = alone.model.state_dict(), both.model.state_dict()
    for name, tensor in first.items():
        # Adam divides by small numbers: rounding of sums in another order grows to this.
        torch.testing.assert_close(second[name], tensor, rtol=1e-3, atol=2e-4)
    assert alone.manifest().result["tokens"] == both.manifest().result["tokens"]
    assert done.stderr.count("run written to") == 1
