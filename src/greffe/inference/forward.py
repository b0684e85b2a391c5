"""Using a model without training it: no gradients, no dropout, the right head. Knows no text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from greffe.errors import InputError
from greffe.model.model import Model


@contextmanager
def evaluation_mode(model: Model) -> Iterator[None]:
    """No gradients and no dropout inside the block; a model in training goes back to it after."""
    was_training = model.training
    # Switching visits every module: not for each token of a model that reads already.
    if was_training:
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        if was_training:
            model.train()


def device_of(model: Model) -> torch.device:
    """Where the model's weights are."""
    return model.base.embedding.weight.device


def require_head(model: Model, kind: str, *, purpose: str, hint: str) -> None:
    """An error that says which heads there are, unless the model has the one that is needed."""
    if kind not in model.heads:
        raise InputError(
            f"This model cannot {purpose}.",
            expected=f"a model with a {kind} head",
            found=f"heads: {', '.join(model.heads) or 'none'}",
            hint=hint,
        )
