"""An objective's loss whose gradients are summed over all ranks, by torch's own DDP.

DistributedDataParallel exchanges gradients in buckets while the backward pass still computes
others. It would average them; here they are summed, because losses are already divided by the
global count. With a single process, loss and backward pass are the plain ones.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from greffe.data.batches import Batch
from greffe.model.model import Model
from greffe.objectives.objective import Objective
from greffe.training.distributed import World, exchange

BUCKET_MEGABYTES = 25


class SharedLoss:
    """The loss of a rank's batches."""

    def __init__(self, model: Model, objective: Objective, world: World) -> None:
        self.module = _LossModule(model, objective)
        self.world = world
        self._trained: list[bool] = []
        self._wrapped: DistributedDataParallel | None = None

    def follow_freezing(self) -> None:
        """Exchange the gradients of exactly those parameters that are trained now."""
        trained = [parameter.requires_grad for parameter in self.module.parameters()]
        if self.world.size == 1 or trained == self._trained:
            return
        if self._wrapped is not None:
            self._wrapped._remove_autograd_hooks()  # type: ignore[no-untyped-call]
        self._trained = trained
        with exchange():
            self._wrapped = DistributedDataParallel(
                self.module,
                find_unused_parameters=self.module.unused is not None,
                gradient_as_bucket_view=True,
                bucket_cap_mb=BUCKET_MEGABYTES,
            )
        # Without annotations, which torch would compare with its own.
        self._wrapped.register_comm_hook(None, lambda _, bucket: _sum(bucket))

    def terms(self, batch: Batch, *, is_last: bool) -> dict[str, Tensor]:
        """Return the sums of each term; the backward pass of a step's last part exchanges."""
        wrapped = self._wrapped
        if wrapped is None:
            return self.module(batch)  # type: ignore[no-any-return]
        with nullcontext() if is_last else wrapped.no_sync(), exchange(only_known=True):
            return wrapped(batch)  # type: ignore[no-any-return]

    def backward(self, total: Tensor) -> None:
        """Compute the gradients of what `terms` returned."""
        with exchange(only_known=True):
            total.backward()  # type: ignore[no-untyped-call]

    def join_without_rows(self) -> None:
        """Take part in a step for which this rank has no rows."""
        if self._wrapped is not None:
            self.backward(self._wrapped(None)[""])


class _LossModule(nn.Module):
    """Model and objective as one module, so that DDP sees all that a loss is made of."""

    def __init__(self, model: Model, objective: Objective) -> None:
        super().__init__()
        self.model = model
        self.objective = objective
        # A rank's rows may leave out one of several terms, and with it the term's head: DDP has to
        # look for what was not used. It warns if it finds nothing, so there always is something.
        may_skip_a_head = len(objective.weights) > 1
        device = model.base.embedding.weight.device
        self.unused = nn.Parameter(torch.zeros(1, device=device)) if may_skip_a_head else None

    def forward(self, batch: Batch | None) -> dict[str, Tensor]:
        """Return the sums of the objective's terms; without a batch, zero times all parameters."""
        if batch is not None:
            return self.objective.loss(self.model, batch)
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        return {"": 0.0 * torch.stack([parameter.sum() for parameter in trained]).sum()}


def _sum(bucket: Any) -> torch.futures.Future[Tensor]:
    """Start to sum a bucket of gradients over all ranks, in place."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    assert work is not None
    summed: torch.futures.Future[Tensor] = work.get_future().then(lambda done: done.value()[0])
    return summed
