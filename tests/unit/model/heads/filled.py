"""Small heads with random weights."""

from __future__ import annotations

import torch

from greffe.config.sections import ModelSpec

WIDTH, VOCAB = 6, 11
SHAPE = ModelSpec(width=WIDTH, heads=3)
EMBEDDING = torch.zeros(VOCAB, WIDTH)


def filled(head: torch.nn.Module) -> torch.nn.Module:
    """Return the head with normal values in all of its parameters."""
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    return head
