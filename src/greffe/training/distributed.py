"""World: torchrun's environment as one value. Knows no model; with one process it does nothing.

Everything that must agree between processes goes through here: counts, gradients, stop flags.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist

from greffe.progress import silence


@dataclass(frozen=True)
class World:
    """Which of how many processes this is."""

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls) -> World:
        """The world that torchrun describes, joined; a world of one without torchrun."""
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size > 1 and not dist.is_initialized():
            # Models stay in the processor's memory, which gloo alone can sum.
            # The others wait while the first prepares a text, which may take hours.
            dist.init_process_group("gloo", timeout=timedelta(days=2))
        world = cls(rank=int(os.environ.get("RANK", "0")), size=size)
        atexit.register(world.leave)
        if not world.is_main:
            silence()
        return world

    @property
    def is_main(self) -> bool:
        """True on the one process that writes to disk and speaks to the user."""
        return self.rank == 0

    def sum(self, values: Sequence[float]) -> list[float]:
        """Element-wise sum over all processes, the same on each."""
        if self.size == 1:
            return list(values)
        total = torch.tensor(list(values), dtype=torch.float64)
        dist.all_reduce(total)
        return [float(value) for value in total]

    def shard(self, items: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """This process's part: the parts of all processes follow each other and miss nothing."""
        return np.array_split(items, self.size)[self.rank]

    def broadcast(self, value: float) -> float:
        """The value that the main process has, on every process."""
        return self.sum([value if self.is_main else 0.0])[0]

    def sum_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Add up gradients in place; losses are sums over the global count, so no division."""
        if self.size == 1:
            return
        # A rank whose rows did not need a head has no gradient for it where another rank has one.
        wanted = self.sum([float(p.grad is not None) for p in parameters])
        gradients = []
        for parameter, ranks in zip(parameters, wanted, strict=True):
            if ranks and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            if parameter.grad is not None:
                gradients.append(parameter.grad)
        if not gradients:
            return
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat)
        parts = torch.split(flat, [gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def broadcast_tensor(self, tensor: torch.Tensor) -> None:
        """Give every process what the main process holds, in place."""
        if self.size > 1:
            dist.broadcast(tensor, src=0)

    def barrier(self) -> None:
        """Wait until every process is here."""
        if self.size > 1:
            dist.barrier()

    def leave(self) -> None:
        """Close the process group."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
