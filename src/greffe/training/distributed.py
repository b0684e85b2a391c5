"""World: rank and world size from torchrun, and the collective operations that training needs.

All values that must agree between ranks pass through here: counts, scores, stop flags; gradients
pass through shared_loss.py. With a single process every operation returns its input.

Numbers of the host are exchanged by gloo, tensors on a GPU by nccl, which does not wait for them.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist

from greffe.errors import InputError, TrainingError
from greffe.machine import rank_and_ranks
from greffe.progress import silence


@dataclass(frozen=True)
class World:
    """Rank of this process and the number of processes."""

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls) -> World:
        """Join torchrun's process group; without torchrun, return a world of one process."""
        rank, size = rank_and_ranks()
        if size > 1 and not dist.is_initialized():
            # DDP would import this module later. The default arguments of its functions then hold
            # the process group, and no one can destroy it.
            import_module("torch.distributed.nn.functional")
            has_nccl = torch.cuda.is_available() and dist.is_nccl_available()
            backend = "cpu:gloo,cuda:nccl" if has_nccl else "gloo"
            # The long timeout: the other ranks wait while the main rank prepares a corpus, which
            # may take hours.
            try:
                dist.init_process_group(backend, timeout=timedelta(days=2))
            except (ValueError, dist.DistError) as error:
                raise InputError(
                    f"The {size} processes of this training cannot connect.",
                    expected="the environment variables that torchrun sets",
                    found=str(error).partition("\n")[0],
                    hint="start the command with torchrun, or unset WORLD_SIZE",
                ) from error
        world = cls(rank, size)
        atexit.register(world.leave)
        if not world.is_main:
            silence()
        return world

    @property
    def is_main(self) -> bool:
        """True on rank 0, which alone writes to disk and prints messages."""
        return self.rank == 0

    def sum(self, values: Sequence[float]) -> list[float]:
        """Return the element-wise sum over all ranks, on every rank."""
        if self.size == 1:
            return list(values)
        total = torch.tensor(list(values), dtype=torch.float64)
        with exchange():
            dist.all_reduce(total)
        return [float(value) for value in total]

    def sum_array(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the element-wise sum of large arrays over all ranks, on every rank."""
        if self.size == 1:
            return values
        total = torch.from_numpy(values.copy())
        with exchange():
            dist.all_reduce(total)
        return total.numpy()

    def sum_tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the sum of a tensor over all ranks, on its device and without waiting for it."""
        if self.size > 1:
            with exchange():
                dist.all_reduce(tensor)
        return tensor

    def shard(self, items: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return this rank's contiguous shard; the shards of all ranks together are `items`."""
        return np.array_split(items, self.size)[self.rank]

    def broadcast(self, value: float) -> float:
        """Return rank 0's value on every rank."""
        return self.sum([value if self.is_main else 0.0])[0]

    def broadcast_tensor(self, tensor: torch.Tensor) -> None:
        """Copy rank 0's tensor to every rank, in place."""
        if self.size > 1:
            with exchange():
                dist.broadcast(tensor, src=0)

    def broadcast_weights(self, model: torch.nn.Module) -> None:
        """Copy rank 0's weights to every rank, in place."""
        for tensor in model.state_dict().values():
            self.broadcast_tensor(tensor)

    def barrier(self) -> None:
        """Wait until every rank has reached this point."""
        self.sum([0.0])  # over gloo: nccl's barrier would take a GPU that may not be in use

    def leave(self) -> None:
        """Destroy the process group and wait for its threads.

        A thread of gloo that lets go of its last tensor while the interpreter ends aborts it.
        """
        if self.size > 1 and dist.is_initialized():
            gc.collect()  # modules of DDP, which hold the group
            dist.destroy_process_group()


@contextmanager
def exchange(*, only_known: bool = False) -> Iterator[None]:
    """Turn the failure of an operation of all ranks into an error for the user.

    only_known: the block computes too, so only errors that a backend's message names are meant.
    """
    try:
        yield
    except RuntimeError as error:  # gloo has no class of its own for a connection that is closed
        if only_known and not any(name in str(error).lower() for name in ("gloo", "nccl")):
            raise
        raise TrainingError(
            "Another process of this training has ended.",
            found=str(error).partition("\n")[0],
            hint="see what it printed, then repeat the command with --resume",
        ) from error
