"""How much memory a model needs, from its shapes alone, before anything is allocated.

The estimates are on the low side of measured peaks, see docs/experiments/memory-estimate.md: only
what plainly does not fit is refused. Knows nothing of objectives, data or runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec, TrainSpec
from greffe.errors import OutOfMemoryError
from greffe.kernels.half_attention import LONGEST
from greffe.kernels.vocabulary_loss import CHUNK_BYTES
from greffe.machine import available_memory, local_ranks
from greffe.model.formulas import base_formulas, count_parameters, lora_formulas

FLOAT = 4
HALF = 2
CERTAIN = 0.9
"""Fraction of an estimate that is needed for certain, and above which something is refused."""
MOMENTS = 2
"""Of AdamW, for each parameter; its gradient has the same size."""
LIBRARIES = 50 * 10**6
"""Bytes that torch's libraries take with the first step of any training."""
ROW_BYTES = 48
"""For each token of a batch: ids, documents and positions, of this step and of the next."""


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes, by purpose."""

    weights: int
    optimizer: int = 0
    """Gradients and AdamW's moments."""
    activations: int = 0
    """The batch, what a forward pass keeps for the backward pass, and the libraries for both."""

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.optimizer + self.activations

    def __str__(self) -> str:
        parts = [f"weights {format_bytes(self.weights)}"]
        parts += [f"optimizer {format_bytes(self.optimizer)}"] if self.optimizer else []
        parts += [f"activations {format_bytes(self.activations)}"] if self.activations else []
        return ", ".join(parts)


@dataclass(frozen=True)
class BatchShape:
    """The rows that one process reads in a step, in parts that are computed one by one."""

    rows: int
    parts: int
    row_tokens: float
    """Mean number of tokens in a row."""
    predicted: float = 0.0
    """Fraction of the tokens that go through a vocabulary head."""
    is_packed: bool = False
    """Whether a row holds several documents: attention then has a mask for each row."""


def format_bytes(count: float) -> str:
    """Format an amount of memory: `750 MB`, `3.2 GB`."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{max(1, count / 1e6):.0f} MB"


def weights_need(spec: ModelSpec, vocab: int, heads: Iterable[HeadSpec]) -> MemoryNeed:
    """Return what a model without gradients needs."""
    return MemoryNeed(FLOAT * count_parameters(spec, vocab, heads))


def training_need(
    spec: ModelSpec, vocab: int, heads: Iterable[HeadSpec], train: TrainSpec, batch: BatchShape
) -> MemoryNeed:
    """Return what training the model on such batches needs.

    With train.precision = auto, which may become bf16, it is the need of bf16.
    """
    heads = list(heads)
    weights = weights_need(spec, vocab, heads).weights
    frozen = FLOAT * _frozen_parameters(spec, vocab, train)
    if train.lora.rank:
        weights += FLOAT * sum(value for _, value in lora_formulas(spec, train).values())
    tokens = batch.rows / batch.parts * batch.row_tokens
    kept = tokens * _kept_per_token(spec, train, batch)
    kept += _bias(spec, batch) + tokens * batch.predicted * 6 * spec.width
    if _is_half(train):
        blocks = spec.layers * base_formulas(spec, vocab)["one_layer"][1]
        activations = HALF * (kept + blocks)  # each step has a copy of the blocks' weights
    else:
        activations = FLOAT * kept
    activations += _vocabulary_loss(spec, vocab, heads, train, batch)
    activations += LIBRARIES + ROW_BYTES * batch.rows * batch.row_tokens
    return MemoryNeed(weights, (1 + MOMENTS) * (weights - frozen), round(activations))


def require_memory(need: MemoryNeed, what: str, *, hint: str) -> None:
    """Raise an OutOfMemoryError if this machine has less than `what` needs."""
    available = _available_here()
    if available is None or CERTAIN * need.total <= available:
        return
    raise OutOfMemoryError(
        f"{what} needs about {format_bytes(need.total)} of memory: {need}.",
        expected=f"at most {format_bytes(available)}, what is available",
        hint=hint,
    )


def require_training_memory(
    spec: ModelSpec, vocab: int, heads: Iterable[HeadSpec], train: TrainSpec, batch: BatchShape
) -> None:
    """Raise an OutOfMemoryError if training does not fit; it says what would."""
    heads = list(heads)
    available = _available_here() or 0

    def fits(parts: int) -> bool:
        shape = replace(batch, parts=parts)
        return CERTAIN * training_need(spec, vocab, heads, train, shape).total <= available

    # The most parts that a batch can have are its rows: if they do not fit, none do.
    most = min(batch.rows, train.batch)
    enough = next((n for n in range(batch.parts, most + 1) if train.batch % n == 0 and fits(n)), 0)
    require_memory(
        training_need(spec, vocab, heads, train, batch),
        "This training",
        hint=f"--set train.accumulation={enough}, or a smaller train.batch"
        if enough
        else "use a smaller model (model.width, model.layers, tokenizer.vocab), train.batch or "
        "model.context",
    )


def _available_here() -> int | None:
    """Return the memory available to this process, which shares the machine with other ranks."""
    available = available_memory()
    return None if available is None else available // local_ranks()


def _frozen_parameters(spec: ModelSpec, vocab: int, train: TrainSpec) -> int:
    """Return the parameters that get no gradient: of the embedding and the lowest blocks."""
    if train.freeze == "base" or train.lora.rank:
        return count_parameters(spec, vocab, [])
    if train.freeze == 0:
        return 0
    formulas = base_formulas(spec, vocab)
    blocks = train.frozen_blocks(spec.layers)
    return formulas["embedding"][1] + blocks * formulas["one_layer"][1]


def _kept_per_token(spec: ModelSpec, train: TrainSpec, batch: BatchShape) -> float:
    """Return the numbers that the base keeps for each token.

    A block keeps its two normalized inputs, queries, keys and values, the attention's output before
    and after its heads are joined, the residual stream, both sides of its activation, what
    dropout leaves of its two branches, and what positions add. In bf16, short rows also keep the
    probabilities of their attention, and nothing for positions. A frozen matrix does not keep its
    input, unless its adapter does, with a few numbers more.
    """
    by_products = _is_half(train) and batch.row_tokens <= LONGEST
    vectors = 8 + (2 if spec.dropout else 0) + (0 if by_products else spec.position.kept_vectors)
    # A gate adds one more side: both halves before it, their product after it.
    block = vectors * spec.width + spec.feed_forward + spec.expanded
    block += spec.feed_forward if spec.gated else 0
    if train.lora.rank:
        block += len(train.lora.targets) * train.lora.rank
        inputs = _matrix_inputs(spec)
        block -= sum(inputs[target] for target in inputs if target not in train.lora.targets)
    if by_products:
        block += round(spec.heads * batch.row_tokens)
    elif batch.is_packed:
        # The mask of a packed row is as wide as the row, and every block has a copy as numbers.
        block += round(batch.row_tokens)
    # The backward pass holds the gradients of one block's widest tensors.
    passing = 2 * max(3 * spec.width, spec.expanded)
    return (spec.layers - train.frozen_blocks(spec.layers)) * block + 2 * spec.width + passing


def _matrix_inputs(spec: ModelSpec) -> dict[str, int]:
    """Return the inputs of each matrix of a block, which only its own gradient needs."""
    width = spec.width
    return {"qkv": width, "out": width, "expand": width, "contract": spec.feed_forward}


def _bias(spec: ModelSpec, batch: BatchShape) -> float:
    """Return the numbers of a bias for each pair of positions, which all rows may share."""
    if not spec.position.is_pairwise:
        return 0
    rows = max(1.0, batch.rows / batch.parts) if batch.is_packed else 1
    return rows * spec.heads * batch.row_tokens**2


def _vocabulary_loss(
    spec: ModelSpec, vocab: int, heads: Iterable[HeadSpec], train: TrainSpec, batch: BatchShape
) -> float:
    """Return the bytes of the vocabulary loss: its table, a gradient for each head, logits."""
    scoring = [head for head in heads if head.by_piece]
    if not scoring or not batch.predicted:
        return 0
    table = FLOAT * vocab * spec.token_width
    tokens = batch.rows / batch.parts * batch.row_tokens * batch.predicted
    size = HALF if _is_half(train) else FLOAT
    return (size / FLOAT + len(scoring)) * table + min(CHUNK_BYTES, size * vocab * tokens)


def _is_half(train: TrainSpec) -> bool:
    """Whether activations are bf16, or may be."""
    return train.precision != "fp32"
