"""The vocabulary loss with bf16 matrix products on a CPU; see vocabulary_loss.py for the idea.

Products read and write bf16; sums, logarithms, the target's logit and the gradient of the weight
over all chunks are fp32. Rounding is kept away from where it would hurt:

    the bias is two columns, its bf16 value and the rest; both are multiplied by one
    the shift is the target's logit as a bf16 number, so that subtracting it is exact, and what
    remains is small, hence precise, for all tokens that compete with the target
    the target's own part of the gradient is added in fp32

A chunk of rows is computed in blocks of the vocabulary, small enough to stay in the processor's
cache between a product and what is done with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from greffe.kernels.scratch import padded, scratch

CHUNK_BYTES = 48 * 2**20  # of logits: each chunk adds a gradient of the whole weight to the last
BLOCK = 4096  # tokens of the vocabulary
MULTIPLE = 16
PADDING_LOGIT = -1e30  # below any real logit: its exponential is zero
LARGEST_SUM = 1e25  # of a row's exponentials: products with them stay far from overflow


def half_loss(features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return the summed cross-entropy of bf16 features [N, D]; weight [V, D] and bias [V] fp32."""
    # torch leaves `apply` untyped.
    loss: Tensor = _HalfLoss.apply(features, weight, bias, targets)  # type: ignore[no-untyped-call]
    return loss


@torch.no_grad()
def half_nll(features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy of each row [N] in fp32, without gradients."""
    problem = _Problem(features, weight, bias, targets)
    parts = [problem.nll(chunk.rows, chunk.sums) for chunk in problem.chunks(needs_mean=False)]
    return torch.cat(parts) if parts else weight.new_zeros(0)


class _HalfLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
    ) -> Tensor:
        needs_features, ctx.needs_weight, ctx.needs_bias, _ = ctx.needs_input_grad
        problem = _Problem(features, weight, bias, targets)
        of_features = torch.zeros_like(features) if needs_features else None
        needs_table = ctx.needs_weight or ctx.needs_bias
        of_weight = torch.empty_like(weight) if needs_table else None
        of_bias = torch.zeros_like(bias)
        if of_weight is not None and not len(targets):
            of_weight.zero_()
        loss = weight.new_zeros(())
        for chunk in problem.chunks(needs_mean=needs_features):
            rows, sums = chunk.rows, chunk.sums
            loss += problem.nll(rows, sums).sum()
            if of_features is not None:
                of_features[rows] = chunk.mean - problem.target_weights[rows]
            if of_weight is not None:
                scaled = (problem.features[rows] / sums[:, None]).to(features.dtype)
                for tokens, exponentials in chunk.blocks:
                    added = exponentials.t() @ scaled  # [tokens, padded D]
                    part = added[: len(of_weight[tokens]), : problem.width]
                    # The first chunk overwrites uninitialized memory.
                    target = of_weight[tokens]
                    target.copy_(part) if rows.start == 0 else target.add_(part)
                    of_bias[tokens] += added[: len(part), problem.width]
        if of_weight is not None:
            of_weight.index_add_(0, targets, features.to(weight.dtype), alpha=-1)
            of_bias.index_add_(0, targets, bias.new_ones(targets.shape), alpha=-1)
        ctx.save_for_backward(of_features, of_weight, of_bias)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        of_features, of_weight, of_bias = ctx.saved_tensors
        return (
            None if of_features is None else of_features * outer.to(of_features.dtype),
            of_weight.mul_(outer) if ctx.needs_weight else None,  # as large as the model: in place
            of_bias * outer if ctx.needs_bias else None,
            None,
        )


@dataclass(frozen=True)
class _Chunk:
    """Some rows of a problem under the prediction."""

    rows: slice
    blocks: list[tuple[slice, Tensor]]
    """Tokens of the vocabulary, and the exponentials [rows, tokens and padding] in bf16."""
    sums: Tensor
    """Of the exponentials, [rows] in fp32."""
    mean: Tensor
    """Mean weight under the prediction, [rows, width] in fp32; zeros if it is not needed."""


class _Problem:
    """Weight and features in bf16 with their extra columns: bias, its rest, and the shift."""

    def __init__(self, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> None:
        self.vocab, self.width = weight.shape
        vocab, width = self.vocab, self.width
        self.targets = targets
        columns = padded(width + 3, MULTIPLE)
        self.table = scratch("half table", padded(vocab, MULTIPLE), columns, features)
        self.table[:vocab, :width] = weight
        rounded = bias.to(features.dtype)
        self.table[:vocab, width] = rounded
        self.table[:vocab, width + 1] = bias - rounded
        self.table[:vocab, width + 2] = 1.0
        self.table[:, width + 3 :] = 0.0
        self.table[vocab:] = 0.0
        self.table[vocab:, width] = PADDING_LOGIT
        self.target_weights = self.table[targets, :width]
        products = features.float() * self.target_weights.float()
        self.target_logits = products.sum(dim=1) + bias[targets]
        self.shift = self.target_logits.to(features.dtype)
        self.features = features.new_zeros(len(features), columns)
        self.features[:, :width] = features
        self.features[:, width : width + 2] = 1.0
        self.features[:, width + 2] = -self.shift

    def chunks(self, *, needs_mean: bool) -> Iterator[_Chunk]:
        """Yield chunks of rows; each overwrites the exponentials of the previous one."""
        count, vocab = len(self.targets), len(self.table)
        if not count:
            return
        most = max(1, CHUNK_BYTES // (vocab * self.table.element_size()))
        size = -(-count // -(-count // most))
        for start in range(0, count, size):
            rows = slice(start, min(start + size, count))
            chunk = self._exponentiate(rows, needs_mean)
            if not bool(chunk.sums.max() < LARGEST_SUM):
                self._shift_to_maximum(rows)
                chunk = self._exponentiate(rows, needs_mean)
            yield chunk

    def _exponentiate(self, rows: slice, needs_mean: bool) -> _Chunk:
        """Compute exp(logits - shift) of some rows, their sums and the mean weight under them."""
        features = self.features[rows]
        sums = features.new_zeros(len(features), dtype=torch.float32)
        mean = features.new_zeros(len(features), self.width, dtype=torch.float32)
        buffer = scratch("half logits", len(features), len(self.table), features).view(-1)
        blocks = []
        for start in range(0, len(self.table), BLOCK):
            table = self.table[start : start + BLOCK]
            begin, size = start * len(features), len(table) * len(features)
            exponentials = buffer[begin : begin + size].view(len(features), len(table))
            torch.mm(features, table.t(), out=exponentials).exp_()
            sums += exponentials.sum(dim=1, dtype=torch.float32)
            if needs_mean:
                mean += exponentials @ table[:, : self.width]
            blocks.append((slice(start, min(start + BLOCK, self.vocab)), exponentials))
        return _Chunk(rows, blocks, sums, mean / sums[:, None])

    def _shift_to_maximum(self, rows: slice) -> None:
        """Take the largest logit as the shift, for chunks that would overflow otherwise."""
        features = self.features[rows]
        features[:, self.width + 2] = 0.0
        parts = torch.split(self.table, BLOCK)
        largest = torch.stack([(features @ part.t()).amax(dim=1) for part in parts]).amax(dim=0)
        self.shift[rows] = largest
        features[:, self.width + 2] = -largest

    def nll(self, rows: slice, sums: Tensor) -> Tensor:
        """Return the cross-entropies [rows] from the sums of the exponentials."""
        nll = sums.log() + (self.shift[rows].float() - self.target_logits[rows])
        # Rounding may put a perfect prediction slightly below zero; NaN stays NaN.
        return nll.clamp(min=0.0)
