"""One process alone does nothing special; two agree on sums, gradients and flags."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
import torch

from greffe.training.distributed import World


def test_alone_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    world = World.join()
    assert world == World(rank=0, size=1) and world.is_main
    assert world.sum([1, 2.5]) == [1, 2.5]
    assert world.broadcast(0.5) == 0.5
    assert world.shard(np.arange(5)).tolist() == [0, 1, 2, 3, 4]
    parameter = torch.nn.Parameter(torch.ones(2))
    world.sum_gradients([parameter])
    assert parameter.grad is None
    world.barrier()
    world.leave()


RANK = """
import json
import numpy as np
import torch
from greffe.progress import notice
from greffe.training.distributed import World

world = World.join()
names = ("both", "first", "second", "none")
parameters = {name: torch.nn.Parameter(torch.zeros(2, 3)) for name in names}
for name, ranks in {"both": (0, 1), "first": (0,), "second": (1,)}.items():
    if world.rank in ranks:
        parameters[name].grad = torch.full((2, 3), 10.0 ** world.rank)
world.sum_gradients(list(parameters.values()))
gradients = {
    name: None if p.grad is None else p.grad.unique().tolist() for name, p in parameters.items()
}
# Nobody has a gradient: nothing to exchange, and nobody may wait.
world.sum_gradients([torch.nn.Parameter(torch.zeros(1))])
found = {
    "rank": world.rank,
    "is_main": world.is_main,
    "gradients": gradients,
    "sum": world.sum([1.0 + world.rank, 0.5]),
    "broadcast": world.broadcast(7.0 + world.rank),
    "shard": world.shard(np.arange(5)).tolist(),
}
notice(f"printed by {world.rank}")
world.barrier()
world.leave()
print(json.dumps(found))
"""


def test_two_processes_agree(two_ranks: Callable[..., list[tuple[str, str]]]) -> None:
    """A rank whose rows needed no masked head still takes part in the sum of its gradient."""
    outputs = two_ranks(RANK)
    # Only the first one speaks to the user.
    assert "printed by 0" in outputs[0][1] and "printed by 1" not in outputs[1][1]
    for rank, (answer, _) in enumerate(outputs):
        assert json.loads(answer) == {
            "rank": rank,
            "is_main": rank == 0,
            "gradients": {
                "both": [11.0],
                "first": [1.0],
                "second": [10.0],
                "none": None,
            },
            "sum": [3.0, 1.0],
            "broadcast": 7.0,
            "shard": [[0, 1, 2], [3, 4]][rank],
        }
