"""Gradients between backward and step: summed over ranks, measured, clipped. Knows no optimizer.

An embedding that is only looked up gets its gradient as the few rows that a batch used. The
optimizer wants all of them, so the rows are set into a table of zeros that is kept, and taken out
again after the step: no table is cleared, measured or scaled whole; every number stays the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from greffe.training.distributed import World

CLIP_EPSILON = 1e-6


@dataclass(frozen=True)
class _UsedRows:
    """Part of a gradient that is not zero: its row numbers [R] and their values [R, D]."""

    numbers: Tensor
    values: Tensor


class Gradients:
    """Those of one model's parameters, from one step to the next."""

    def __init__(self, parameters: Sequence[nn.Parameter], world: World) -> None:
        self.parameters = parameters
        self.world = world
        self._tables: dict[nn.Parameter, Tensor] = {}
        self._used: dict[nn.Parameter, _UsedRows] = {}

    def clear(self) -> None:
        """Forget the last step's."""
        for parameter in self.parameters:
            parameter.grad = None
        for parameter, used in self._used.items():
            self._tables[parameter][used.numbers] = 0.0
        self._used.clear()

    def gather(self) -> None:
        """Sum them over all ranks, and give every parameter a dense one."""
        for parameter in self.parameters:
            gradient = parameter.grad
            if gradient is None or not gradient.is_sparse:
                continue
            if self.world.size > 1:
                # Ranks used different rows: their sum is as long as all of them.
                parameter.grad = gradient.to_dense()
                continue
            used = _used_rows(gradient)
            if parameter not in self._tables:
                self._tables[parameter] = torch.zeros_like(parameter)
            table = self._tables[parameter]
            table[used.numbers] = used.values
            parameter.grad = table
            self._used[parameter] = used
        self.world.sum_gradients(self.parameters)

    def clip(self, limit: float) -> float:
        """Scale all of them so that their norm is at most `limit` (0: any); the norm before."""
        given = [parameter for parameter in self.parameters if parameter.grad is not None]
        norm = float(nn.utils.get_total_norm([self._measured(parameter) for parameter in given]))
        # A factor of one, and one that is not a number, would be a pass over all for nothing.
        if 0 < limit < norm < float("inf"):
            factor = limit / (norm + CLIP_EPSILON)
            for parameter in given:
                self._measured(parameter).mul_(factor)
            for parameter, used in self._used.items():
                self._tables[parameter][used.numbers] = used.values
        return norm

    def _measured(self, parameter: nn.Parameter) -> Tensor:
        """What of a gradient is not zero."""
        assert parameter.grad is not None
        used = self._used.get(parameter)
        return parameter.grad if used is None else used.values


def _used_rows(gradient: Tensor) -> _UsedRows:
    """The rows of a sparse gradient, each once; summed in the order of a dense one, to the bit."""
    numbers, places = gradient._indices()[0].unique(return_inverse=True)  # type: ignore[no-untyped-call]
    values = gradient._values()
    return _UsedRows(
        numbers, values.new_zeros(len(numbers), *values.shape[1:]).index_add_(0, places, values)
    )
