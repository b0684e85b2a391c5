"""Helpers for inference: no gradients, no dropout, device and heads of a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from greffe.errors import CorruptError, InputError
from greffe.model.model import Model


@contextmanager
def evaluation_mode(model: Model) -> Iterator[None]:
    """Disable gradients and dropout inside the block; restore training mode afterwards."""
    was_training = model.training
    # eval() visits every module, which is too slow for every generated token.
    if was_training:
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        if was_training:
            model.train()


def device_of(model: Model) -> torch.device:
    """Return the device of the model's weights."""
    return model.base.embedding.weight.device


def require_head(model: Model, kind: str, *, purpose: str, hint: str) -> None:
    """Raise an InputError that lists the model's heads unless it has a head of this kind."""
    if kind not in model.heads:
        raise InputError(
            f"This model cannot {purpose}.",
            expected=f"a model with a {kind} head",
            found=f"heads: {', '.join(model.heads) or 'none'}",
            hint=hint,
        )


def require_finite(outputs: Tensor | np.ndarray) -> None:
    """Raise an error unless all outputs of a model are finite: they would be shown as results."""
    if not torch.as_tensor(outputs).isfinite().all():
        raise CorruptError(
            "The outputs of the model are not finite.",
            expected="weights that a training ended with",
            found="weights that are too large to compute with: the training diverged",
            hint="train the model again with a lower learning rate",
        )
