"""The vocabulary loss on a GPU: torch's own kernels, in chunks where all logits would be too large.

Nothing here waits for the device: sizes come from shapes alone, and ignored targets are left to
`F.cross_entropy`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

CHUNK_BYTES = 512 * 2**20
"""Of a chunk's logits in fp32. Their gradient takes as much again, and bf16 logits half of it."""


def device_loss(features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return the summed cross-entropy; the logits of several chunks are computed twice."""
    rows = _rows_at_once(len(weight))
    if len(features) <= rows:
        return _sum(features, weight, bias, targets)
    total = torch.zeros((), device=features.device)
    for some, answers in zip(torch.split(features, rows), torch.split(targets, rows), strict=True):
        # Without its logits, a chunk keeps only its inputs for the backward pass.
        part = checkpoint(
            _sum, some, weight, bias, answers, use_reentrant=False, preserve_rng_state=False
        )
        total = total + part
    return total


@torch.no_grad()
def device_nll(features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy of each row [N], zero where the target is ignored."""
    rows = _rows_at_once(len(weight))
    parts = zip(torch.split(features, rows), torch.split(targets, rows), strict=True)
    return torch.cat(
        [
            F.cross_entropy(_logits(some, weight, bias), answers, reduction="none")
            for some, answers in parts
        ]
    )


def _rows_at_once(vocab: int) -> int:
    return max(1, CHUNK_BYTES // (4 * vocab))


def _sum(features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(_logits(features, weight, bias), targets, reduction="sum")


def _logits(features: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return logits [N, vocab] in fp32; the product has the precision of the features."""
    scores = features @ weight.to(features.dtype).t()
    return scores.float() + bias
