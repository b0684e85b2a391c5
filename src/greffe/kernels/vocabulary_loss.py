"""Cross-entropy over a large vocabulary without ever holding all logits. Knows tensors alone.

Rows are taken in chunks; each chunk's logits live in one buffer in which they become, in place,
exponentials, probabilities and the gradient. Loss and gradients come out of the same pass, so the
logits are computed once and memory does not grow with the number of rows. The result is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

IGNORED = -100
CHUNK_BYTES = 24 * 2**20


def vocabulary_loss(features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Sum of the cross-entropies of `features @ weight.T + bias` against the targets.

    features [N, D], weight [V, D], bias [V], targets int64 [N]; a target of -100 counts nothing.
    """
    if not torch.is_grad_enabled():
        return vocabulary_nll(features, weight, bias, targets).sum()
    # torch leaves `apply` untyped.
    loss: Tensor = _VocabularyLoss.apply(features, weight, bias, targets)  # type: ignore[no-untyped-call]
    return loss


@torch.no_grad()
def vocabulary_nll(features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each row [N], zero where the target is -100; without gradients."""
    counted = targets.ne(IGNORED).nonzero().squeeze(1)
    features, chosen = features[counted], targets[counted]
    nll = features.new_zeros(targets.shape)
    for rows, logits in _chunks(features, weight, bias):
        nll[counted[rows]], _ = _exponentiate(logits, chosen[rows])
    return nll


class _VocabularyLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
    ) -> Tensor:
        needs_features, needs_weight, needs_bias, _ = ctx.needs_input_grad
        features_gradient = torch.zeros_like(features) if needs_features else None
        weight_gradient = torch.zeros_like(weight) if needs_weight else None
        bias_gradient = torch.zeros_like(bias) if needs_bias else None
        counted = targets.ne(IGNORED).nonzero().squeeze(1)
        features, targets = features[counted], targets[counted]
        loss = features.new_zeros(())
        for rows, logits in _chunks(features, weight, bias):
            nll, totals = _exponentiate(logits, targets[rows])
            loss += nll.sum()
            # d loss / d logits = probabilities - one at the target, [chunk, V] in the same buffer.
            logits.div_(totals)
            logits[torch.arange(len(logits), device=logits.device), targets[rows]] -= 1
            if features_gradient is not None:
                features_gradient[counted[rows]] = logits @ weight
            if weight_gradient is not None:
                weight_gradient.addmm_(logits.t(), features[rows])
            if bias_gradient is not None:
                bias_gradient += logits.sum(dim=0)
        ctx.save_for_backward(features_gradient, weight_gradient, bias_gradient)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        scaled = (None if part is None else part * outer for part in ctx.saved_tensors)
        return (*scaled, None)


def _chunks(features: Tensor, weight: Tensor, bias: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Slices of rows with their logits [chunk, V]; every chunk overwrites the one before."""
    vocab = weight.shape[0]
    size = max(1, min(len(features), CHUNK_BYTES // (vocab * features.element_size())))
    buffer = features.new_empty(size, vocab)
    for start in range(0, len(features), size):
        rows = slice(start, min(start + size, len(features)))
        logits = buffer[: rows.stop - rows.start]
        torch.addmm(bias, features[rows], weight.t(), out=logits)
        yield rows, logits


def _exponentiate(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Logits [n, V] become exponentials in place; cross-entropies [n] and row sums [n, 1]."""
    logits.sub_(logits.amax(dim=1, keepdim=True))
    chosen = logits.gather(1, targets[:, None])
    totals = logits.exp_().sum(dim=1, keepdim=True)
    return (totals.log() - chosen).squeeze(1), totals
