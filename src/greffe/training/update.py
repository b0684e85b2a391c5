"""Take a step unless its loss or gradient is not finite, and tell what came of it.

On a CPU the figures of a step are numbers. On a GPU they stay on the device until they are read:
reading waits for everything that was computed before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Figures:
    """What came of a step."""

    loss: float
    gradient_norm: float
    skipped: int
    """Skipped steps of the whole training so far."""
    skipped_in_a_row: int
    """Up to this step, which was skipped if it is not zero."""
    terms: dict[str, float]


class Outcome:
    """The figures of a step, which are read from the device when they are first asked for."""

    def __init__(self, names: Sequence[str], values: Sequence[float] | Tensor) -> None:
        self._names = names
        self._values = values
        """Loss, norm, skipped, skipped in a row and the terms; on a GPU one tensor of them."""

    @property
    def is_read(self) -> bool:
        """Whether the figures are known without waiting for a device."""
        return not isinstance(self._values, Tensor)

    def read(self) -> Figures:
        """Return the figures; on a GPU, wait for them the first time."""
        if isinstance(self._values, Tensor):
            self._values = self._values.tolist()
        loss, norm, skipped, in_a_row, *terms = self._values
        return Figures(
            loss, norm, int(skipped), int(in_a_row), dict(zip(self._names, terms, strict=True))
        )


class Updates:
    """The steps of an optimizer; those that are not finite are skipped and counted."""

    def __init__(
        self, optimizer: torch.optim.Optimizer, *, skipped: int = 0, in_a_row: int = 0
    ) -> None:
        self.optimizer = optimizer
        self._skipped: float | Tensor = skipped
        self._in_a_row: float | Tensor = in_a_row

    def apply(
        self, loss: float | Tensor, norm: float | Tensor, terms: Mapping[str, float | Tensor]
    ) -> Outcome:
        """Take the step if loss and norm, both numbers or both on a GPU, are finite."""
        skip: float | Tensor
        if isinstance(norm, Tensor):
            is_finite = torch.as_tensor(loss).isfinite() & norm.isfinite()
            skip = (~is_finite).float()
            # As torch's GradScaler does: the fused kernel changes nothing if this is one.
            self.optimizer.found_inf = skip  # type: ignore[attr-defined]
            self.optimizer.step()
        else:
            skip = float(not (math.isfinite(loss) and math.isfinite(norm)))
            if not skip:
                self.optimizer.step()
        self._skipped = self._skipped + skip
        self._in_a_row = (self._in_a_row + skip) * skip
        values = [loss, norm, self._skipped, self._in_a_row, *terms.values()]
        if isinstance(norm, Tensor):
            return Outcome(list(terms), torch.stack([torch.as_tensor(value) for value in values]))
        return Outcome(list(terms), [float(value) for value in values])
