"""Gradients between backward and step: made dense, and clipped.

The embedding's gradient may be sparse: it then holds only the rows that a batch used. The optimizer
needs a dense tensor, so the rows are written into a table of zeros that is kept between steps and
cleared afterwards. The whole table is never cleared, measured or scaled, and the result is
identical. This suits a single process on a CPU: a GPU would have to be waited for to count the
rows, and several ranks use different ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

CLIP_EPSILON = 1e-6


@dataclass(frozen=True)
class _UsedRows:
    """The nonzero rows of a gradient: row numbers [R] and values [R, D]."""

    numbers: Tensor
    values: Tensor


class Gradients:
    """The gradients of a model's parameters."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.parameters = parameters
        self._tables: dict[nn.Parameter, Tensor] = {}
        self._used: dict[nn.Parameter, _UsedRows] = {}

    def clear(self) -> None:
        """Clear the last step's gradients."""
        for parameter in self.parameters:
            parameter.grad = None
        for parameter, used in self._used.items():
            self._tables[parameter][used.numbers] = 0.0
        self._used.clear()

    def gather(self) -> None:
        """Make all gradients dense."""
        for parameter in self.parameters:
            gradient = parameter.grad
            if gradient is None or not gradient.is_sparse:
                continue
            used = _used_rows(gradient)
            if parameter not in self._tables:
                self._tables[parameter] = torch.zeros_like(parameter)
            table = self._tables[parameter]
            table[used.numbers] = used.values
            parameter.grad = table
            self._used[parameter] = used

    def clip(self, limit: float) -> float | Tensor:
        """Scale the gradients to a total norm of at most `limit` (0: no limit); return the norm.

        It is a number on a CPU, and on a GPU a tensor that nothing here waits for.
        """
        given = [parameter for parameter in self.parameters if parameter.grad is not None]
        total = nn.utils.get_total_norm([self._measured(parameter) for parameter in given])
        if not given:  # a tied head without a bias on a frozen base; torch puts it on the host
            total = total.new_zeros((), device=self.parameters[0].device)
        if total.device.type != "cpu":
            if limit:
                nn.utils.clip_grads_with_norm_(given, limit, total)
            return total
        norm = float(total)
        # Skip the pass over all gradients if the factor would be one or not finite.
        if 0 < limit < norm < float("inf"):
            factor = limit / (norm + CLIP_EPSILON)
            for parameter in given:
                self._measured(parameter).mul_(factor)
            for parameter, used in self._used.items():
                self._tables[parameter][used.numbers] = used.values
        return norm

    def _measured(self, parameter: nn.Parameter) -> Tensor:
        """Return the part of a gradient that is not zero."""
        assert parameter.grad is not None
        used = self._used.get(parameter)
        return parameter.grad if used is None else used.values


def _used_rows(gradient: Tensor) -> _UsedRows:
    """Sum duplicate rows of a sparse gradient, in the order (and to the bit) of a dense one."""
    numbers, inverse = gradient._indices()[0].unique(return_inverse=True)  # type: ignore[no-untyped-call]
    values = gradient._values()
    return _UsedRows(
        numbers, values.new_zeros(len(numbers), *values.shape[1:]).index_add_(0, inverse, values)
    )
