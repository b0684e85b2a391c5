"""Cross-entropy over a large vocabulary without materializing all logits.

Features in bf16 and other devices have kernels of their own, half_vocabulary_loss.py and
device_vocabulary_loss.py. Here is fp32 on a CPU.

Rows are processed in chunks. A chunk's logits live in one buffer, in which they become exponentials
and then the gradient. Loss and gradients are computed in one pass with three matrix products. The
result is exact, and memory does not grow with the number of rows.

On a CPU, everything besides matrix products is expensive, so it is folded into the products. The
weight gets a column for the bias and a column of ones, the features a one and minus a shift:

    [weight, bias, 1] @ [features, 1, -shift]ᵀ  =  logits - shift        exponentials, in place
    [weight, bias, 1]ᵀ @ exponentials           =  mean weight, and each row's sum
    gradient @ [features, 1] / sums             =  gradient of weight and bias

The shift is the target's logit. A row then sums to exp(cross-entropy), which is at least one, so no
maximum has to be found; chunks in which this overflows are computed again with the maximum.
Logits are stored as [vocabulary, rows], which was measured to be 10% faster than the transpose if
all sizes are multiples of a vector register. The padding for this is internal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from greffe.kernels.device_vocabulary_loss import device_loss, device_nll
from greffe.kernels.half_vocabulary_loss import (
    LARGEST_SUM,
    PADDING_LOGIT,
    half_loss,
    half_nll,
)
from greffe.kernels.scratch import padded, scratch

IGNORED = -100
CHUNK_BYTES = 48 * 2**20  # of logits: five times as much is 5% faster and takes 150 MB more
VOCAB_MULTIPLE = 64
OTHER_MULTIPLE = 16


def vocabulary_loss(features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return the summed cross-entropy of the logits `features @ weight.T + bias`.

    features [N, D], weight [V, D], bias [V], targets int64 [N]; targets of -100 are ignored.
    """
    if not torch.is_grad_enabled():
        return vocabulary_nll(features, weight, bias, targets).sum()
    if features.device.type != "cpu":
        return device_loss(features, weight, bias, targets)
    if features.dtype == torch.bfloat16:
        counted = _counted(targets)
        return half_loss(_rows(features, counted), weight, bias, _rows(targets, counted))
    # torch leaves `apply` untyped.
    loss: Tensor = _VocabularyLoss.apply(features, weight, bias, targets)  # type: ignore[no-untyped-call]
    return loss


@torch.no_grad()
def vocabulary_nll(features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy of each row [N], zero for targets of -100; without gradients."""
    if features.device.type != "cpu":
        return device_nll(features, weight, bias, targets)
    counted = _counted(targets)
    chosen = _rows(features, counted), weight, bias, _rows(targets, counted)
    nll = weight.new_zeros(targets.shape)
    if features.dtype == torch.bfloat16:
        nll[counted] = half_nll(*chosen)
        return nll
    problem = _Problem(*chosen)
    for chunk in problem.chunks():
        chunk.exponentiate()
        sums = chunk.exponentials.sum(dim=0)
        if not _are_safe(sums):
            chunk.exponentiate_by_maximum()
            sums = chunk.exponentials.sum(dim=0)
        nll[counted[chunk.rows]] = chunk.nll(sums)
    return nll


class _VocabularyLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
    ) -> Tensor:
        needs_features, ctx.needs_weight, ctx.needs_bias, _ = ctx.needs_input_grad
        counted = _counted(targets)
        problem = _Problem(_rows(features, counted), weight, bias, _rows(targets, counted))
        features_gradient = torch.zeros_like(features) if needs_features else None
        needs_table = ctx.needs_weight or ctx.needs_bias
        table_gradient = torch.empty_like(problem.table) if needs_table else None
        loss = features.new_zeros(())
        for chunk in problem.chunks():
            chunk.exponentiate()
            mixed = problem.used_table.t() @ chunk.exponentials  # [width + 2, chunk]
            if not _are_safe(mixed[problem.ones]):
                chunk.exponentiate_by_maximum()
                mixed = problem.used_table.t() @ chunk.exponentials
            sums = mixed[problem.ones]
            loss += chunk.nll(sums).sum()
            if features_gradient is not None:
                features_gradient[counted[chunk.rows]] = chunk.features_gradient(mixed, sums)
            if table_gradient is not None:
                # The first product overwrites uninitialized memory.
                beta = 0.0 if chunk.rows.start == 0 else 1.0
                table_gradient.addmm_(chunk.logits_gradient(sums), chunk.scaled(sums), beta=beta)
        if table_gradient is not None and not len(counted):
            table_gradient.zero_()
        ctx.weight_shape = weight.shape
        ctx.save_for_backward(features_gradient, table_gradient)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        features_gradient, table_gradient = ctx.saved_tensors
        vocab, width = ctx.weight_shape
        return (
            None if features_gradient is None else features_gradient * outer,
            table_gradient[:vocab, :width] * outer if ctx.needs_weight else None,
            table_gradient[:vocab, width] * outer if ctx.needs_bias else None,
            None,
        )


class _Problem:
    """Weight and features with their extra columns, without ignored rows."""

    def __init__(self, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> None:
        vocab, width = weight.shape
        self.width = width
        self.ones = width + 1
        self.targets = targets
        padded_vocab = padded(vocab, VOCAB_MULTIPLE)
        padded_width = padded(width + 2, OTHER_MULTIPLE)
        self.table = scratch("table", padded_vocab, padded_width, features)
        self.table[:vocab, :width] = weight
        self.table[:vocab, width] = bias
        self.table[vocab:, :width] = 0.0
        self.table[vocab:, width] = PADDING_LOGIT
        self.table[:, self.ones] = 1.0
        # Padding aligns the rows; only the gradient's product runs over it.
        self.used_table = self.table[:, : self.ones + 1]
        self.target_weights = weight[targets]
        self.target_logits = (features * self.target_weights).sum(dim=1) + bias[targets]
        self.features = features.new_zeros(padded(len(features), OTHER_MULTIPLE), padded_width)
        some = self.features[: len(features)]
        some[:, :width] = features
        some[:, width] = 1.0
        some[:, self.ones] = -self.target_logits

    def chunks(self) -> Iterator[_Chunk]:
        """Yield chunks of about equal size; each overwrites the logits of the previous one."""
        if not len(self.targets):
            return
        count, vocab = len(self.features), len(self.table)
        most = max(1, CHUNK_BYTES // (vocab * self.table.element_size()))
        size = padded(-(-count // -(-count // most)), OTHER_MULTIPLE)
        for start in range(0, count, size):
            stop = min(start + size, count)
            logits = scratch("logits", vocab, stop - start, self.table)
            rows = slice(start, min(stop, len(self.targets)))
            yield _Chunk(self, rows, self.features[start:stop], logits)


class _Chunk:
    """Some rows of a problem and the buffer [V, padded rows] of their logits."""

    def __init__(self, problem: _Problem, rows: slice, features: Tensor, buffer: Tensor) -> None:
        self.problem = problem
        self.rows = rows
        self.count = rows.stop - rows.start
        self.features = features
        self.exponentials = buffer

    def exponentiate(self) -> None:
        """Compute exp(logits - the target's logit) in the buffer."""
        self._multiply().exp_()

    def exponentiate_by_maximum(self) -> None:
        """Compute exp(logits - the maximum), for chunks that would overflow otherwise."""
        self.features[:, self.problem.ones] = 0.0
        largest = self._multiply().amax(dim=0)
        self.features[:, self.problem.ones] = -largest
        self.exponentials.sub_(largest).exp_()

    def _multiply(self) -> Tensor:
        used = self.features[:, : self.problem.ones + 1]
        return torch.mm(self.problem.used_table, used.t(), out=self.exponentials)

    def nll(self, sums: Tensor) -> Tensor:
        """Return the cross-entropies [count] from the sums of the exponentials."""
        shift = -self.features[: self.count, self.problem.ones]
        nll = sums[: self.count].log() + (shift - self.problem.target_logits[self.rows])
        # Rounding may put a perfect prediction slightly below zero; NaN stays NaN.
        return nll.clamp(min=0.0)

    def features_gradient(self, mixed: Tensor, sums: Tensor) -> Tensor:
        """Return the mean weight under the prediction minus the target's weight, [count, width]."""
        mean = (mixed[: self.problem.width] / sums).t()[: self.count]
        return mean - self.problem.target_weights[self.rows]

    def logits_gradient(self, sums: Tensor) -> Tensor:
        """Return (probabilities - one-hot targets) * sums, in the same buffer."""
        targets = self.problem.targets[self.rows]
        columns = torch.arange(self.count, device=targets.device)
        self.exponentials[targets, columns] -= sums[: self.count]
        return self.exponentials

    def scaled(self, sums: Tensor) -> Tensor:
        """Return [features, 1] / sums, which undoes the factor in `logits_gradient`."""
        return self.features / sums[:, None]


def _counted(targets: Tensor) -> Tensor:
    """Return the indices of the targets that count."""
    return targets.ne(IGNORED).nonzero().squeeze(1)


def _rows(values: Tensor, numbers: Tensor) -> Tensor:
    """Select rows, without a copy if all are selected."""
    return values if len(numbers) == len(values) else values[numbers]


def _are_safe(sums: Tensor) -> bool:
    return bool(sums.max() < LARGEST_SUM)
