"""One process alone does nothing special; two agree on sums and flags."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from greffe.errors import InputError
from greffe.training.distributed import World


def test_alone_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    world = World.join()
    assert world == World(rank=0, size=1) and world.is_main
    assert world.sum([1, 2.5]) == [1, 2.5]
    assert world.broadcast(0.5) == 0.5
    assert world.shard(np.arange(5)).tolist() == [0, 1, 2, 3, 4]
    rows = np.array([[1.0, math.nan]])
    assert world.sum_array(rows) is rows
    tensor = torch.ones(2)
    assert world.sum_tensor(tensor) is tensor
    world.barrier()
    world.leave()


RANK = """
import json
import numpy as np
import torch
from greffe.progress import notice
from greffe.training.distributed import World

world = World.join()
found = {
    "rank": world.rank,
    "is_main": world.is_main,
    "array": world.sum_array(np.eye(2)[world.rank : world.rank + 1] * 0.1).tolist(),
    "tensor": world.sum_tensor(torch.tensor([1, 10**world.rank])).tolist(),
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
    outputs = two_ranks(RANK)
    # Only the first one speaks to the user.
    assert "printed by 0" in outputs[0][1] and "printed by 1" not in outputs[1][1]
    for rank, (answer, _) in enumerate(outputs):
        assert json.loads(answer) == {
            "rank": rank,
            "is_main": rank == 0,
            "array": [[0.1, 0.1]],
            "tensor": [2, 11],
            "sum": [3.0, 1.0],
            "broadcast": 7.0,
            "shard": [[0, 1, 2], [3, 4]][rank],
        }


@pytest.mark.parametrize("port", [None, "abc"])
def test_a_world_without_the_other_variables_of_torchrun_is_an_error(
    monkeypatch: pytest.MonkeyPatch, port: str | None
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.delenv("MASTER_PORT", raising=False)
    if port is not None:
        monkeypatch.setenv("MASTER_PORT", port)
    with pytest.raises(InputError, match="cannot connect") as caught:
        World.join()
    assert "torchrun" in str(caught.value.hint)


LOST = """
import os, sys
from greffe.cli import main
from greffe.training.distributed import World

def lose() -> None:
    world = World.join()
    world.barrier()
    if world.rank == int(sys.argv[1]):
        os._exit(9)
    world.sum([1.0])
    print("never")

sys.modules["greffe.cli.main"].app = lambda prog_name: lose()
main()
"""


def test_the_loss_of_a_rank_is_one_error(two_ranks: Callable[..., list[tuple[str, str]]]) -> None:
    found, shown = two_ranks(LOST, "1")[0]
    assert found == "" and "Traceback" not in shown
    assert shown.count("error: ") == 1 and "process of this training has ended" in shown


def test_another_rank_ends_quietly_if_the_first_is_lost(
    two_ranks: Callable[..., list[tuple[str, str]]],
) -> None:
    found, shown = two_ranks(LOST, "0")[1]
    assert found == "" and "Traceback" not in shown and "error: " not in shown
