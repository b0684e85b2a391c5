"""The vocabulary loss alone, forward and backward: 2,040 rows, 50,001 tokens, width 200.

greffe's kernel with several chunk sizes, against F.cross_entropy on all logits at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.cases import CROSS_ENTROPY, GREFFE
from benchmarks.greffe_loop import start_greffe
from benchmarks.settings import Settings
from benchmarks.timing import Contender, Sample
from greffe.model.arithmetic import TRAINING, vocabulary_operations

ROWS, VOCAB, WIDTH = 2040, 50_001, 200
QUICK_VOCAB = 501
REPEATS = 3


def greffe(settings: Settings, megabytes: int | None = None) -> Contender:
    """Build the contender with the kernel, with its default chunk size or another."""
    from greffe.kernels import vocabulary_loss as kernel

    start_greffe(settings.threads)
    if megabytes is not None:
        kernel.CHUNK_BYTES = megabytes * 2**20
    return _contender(settings, kernel.vocabulary_loss)


def plain(settings: Settings) -> Contender:
    """Build the contender with torch's loss, which stores all logits and their gradient."""
    import torch.nn.functional as F

    def loss(features, weight, bias, targets):  # type: ignore[no-untyped-def]
        return F.cross_entropy(F.linear(features, weight, bias), targets, reduction="sum")

    return _contender(settings, loss)


def _contender(settings: Settings, loss: Callable[..., object]) -> Contender:
    import torch

    watch = settings.stopwatch()
    vocab = QUICK_VOCAB if settings.quick else VOCAB
    source = torch.Generator().manual_seed(0)
    features = torch.randn(ROWS, WIDTH, generator=source).requires_grad_()
    weight = (0.05 * torch.randn(vocab, WIDTH, generator=source)).requires_grad_()
    bias = torch.zeros(vocab, requires_grad=True)
    targets = torch.randint(vocab, (ROWS,), generator=source)

    def compute() -> None:
        features.grad = weight.grad = bias.grad = None
        loss(features, weight, bias, targets).backward()  # type: ignore[attr-defined]

    def run(_: int) -> Sample:
        with watch:
            for _ in range(REPEATS):
                compute()
        one = vocabulary_operations(WIDTH, vocab, ROWS, transform=False)
        return watch.taken().speed(REPEATS * ROWS, REPEATS * TRAINING * one)

    compute()
    return run


CONTENDERS = {
    GREFFE: greffe,
    **{f"greffe, {size} MB chunks": partial(greffe, megabytes=size) for size in (16, 64, 128)},
    CROSS_ENTROPY: plain,
}
