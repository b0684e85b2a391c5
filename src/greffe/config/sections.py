"""Sections of a recipe: tokenizer, model, training, fine-tuning and classification.

Knows nothing of torch, data or runs. The docstring under each field is its help text.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from greffe.config.bounds import (
    Batch,
    Context,
    Epsilon,
    Evaluations,
    FeedForward,
    Fraction,
    FractionBelowOne,
    GradientNorm,
    Layers,
    Levels,
    PositiveCount,
    PositiveFraction,
    Processes,
    Rate,
    Steps,
    Trainings,
    Vocab,
    Weight,
    Width,
)
from greffe.config.components import Direction, ObjectiveSpec, PositionSpec
from greffe.config.options import DeviceName, PrecisionName
from greffe.config.spans import Span
from greffe.config.spec import Spec
from greffe.errors import RecipeError

Pooler = Literal["last", "first", "mean", "max", "mean+max"]
LongTexts = Literal["windows", "cut"]
"""How much of a text longer than the context is read: all of it in windows, or its beginning."""


def _tuple_of_list(value: Any) -> Any:
    """Return a list of TOML as a tuple: recipes are read strictly, and TOML has no tuples."""
    return tuple(value) if isinstance(value, list) else value


Betas = Annotated[tuple[FractionBelowOne, FractionBelowOne], BeforeValidator(_tuple_of_list)]


class TokenizerSpec(Spec):
    """How text is split into tokens."""

    kind: Literal["bpe", "unigram"] = "bpe"
    """Training algorithm: bpe or unigram, both with byte fallback."""
    vocab: Vocab = 16_000
    """Vocabulary size, special tokens included; at least 300 to train a new tokenizer."""


class ModelSpec(Spec):
    """Shape of the base."""

    width: Width = 256
    """Size of a token's vector."""
    layers: Layers = 4
    """Number of transformer blocks."""
    heads: Width = 4
    """Attention heads per block; must divide the width."""
    feed_forward: FeedForward = 1024
    """Inner width of a block's two linear layers."""
    context: Context = 256
    """Maximum row length in tokens, in training and for a window in prediction."""
    position: PositionSpec = Field(default_factory=lambda: PositionSpec.of_kind("rotary"))
    """Position scheme and its choices, for example { kind = "alibi" }."""
    norm: Literal["pre", "post"] = "pre"
    """Layer normalization before or after each branch; pre adds one at the end of the base."""
    activation: Literal["relu", "gelu"] = "gelu"
    """Activation between a block's two linear layers."""
    dropout: FractionBelowOne = 0.0
    """Dropout after the embedding and on both branches of each block."""
    scale_embedding: bool = False
    """Multiply embeddings by the square root of the width, as in the original transformer."""
    tied: bool = True
    """Use the embedding as the weight matrix of the language-model heads."""

    @model_validator(mode="after")
    def _check_shape(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by heads {self.heads}")
        self.position.check(self)
        return self


class TrainSpec(Spec):
    """One training: its length, its learning rate, the weights it trains."""

    budget: str = "2000steps"
    """Length of the training: 20m, 1h30m, 2000steps, 3epochs, 50Mtokens."""
    least_steps: Steps = 0
    """Minimum number of steps of a budget in epochs: small data sets need more epochs."""
    batch: Batch = 32
    """Rows or texts per step, over all ranks and accumulation."""
    accumulation: Batch = 1
    """Number of parts a batch is computed in, to save memory; affects only dropout."""
    lr: Rate = 1e-3
    """Peak learning rate."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """Shape of the learning rate after warm-up."""
    warmup: FractionBelowOne = 0.05
    """Fraction of the budget during which the learning rate rises from zero."""
    final_lr: Fraction = 0.0
    """Final learning rate of cosine and linear, as a fraction of lr."""
    weight_decay: Weight = 0.01
    """AdamW's weight decay of matrices; biases, norms and embeddings have none."""
    betas: Betas = (0.9, 0.98)
    """AdamW's betas."""
    epsilon: Epsilon = 1e-8
    """AdamW's epsilon."""
    clip: GradientNorm = 1.0
    """Maximum gradient norm; 0: no clipping."""
    evaluate_every: str = "5%"
    """How often validation runs: 5%, 1epochs, 200steps, 2m."""
    evaluate_rows: PositiveCount = 128
    """Maximum rows per validation in pretraining; fine-tuning always validates on all texts."""
    checkpoint_every: str = "2m"
    """How often the state is saved for resuming."""
    soup: Trainings = 1
    """Number of fine-tunings whose weights are averaged; each one uses the whole budget."""
    patience: Evaluations = 0
    """Stop after this many validations without improvement; 0: never."""
    keep: Literal["best", "last"] = "best"
    """Weights the run ends with: those of the best validation, or the last ones."""
    freeze: Levels | Literal["base"] = 0
    """Freeze the embedding and the lowest N-1 blocks, or the whole base; 0: nothing."""
    gradual_unfreezing: bool = False
    """Train only the head in the first epoch, then one more block per epoch, top down."""
    layer_decay: PositiveFraction = 1.0
    """Learning rate of each layer as a fraction of the rate of the layer above it."""
    embedding_rate: Rate = 1.0
    """Multiplier of the embedding's learning rate, on top of layer_decay."""
    nonfinite_limit: PositiveCount = 10
    """Stop with an error after this many consecutive steps with a non-finite loss."""
    device: DeviceName = "auto"
    """Where to compute: cpu, cuda or mps; auto: on a GPU if there is one."""
    precision: PrecisionName = "auto"
    """Precision of matrix products and activations: fp32 or bf16; auto: the faster, measured."""
    threads: Processes = 0
    """Compute threads; 0: one per core."""
    compile: bool | Literal["auto", "gpu"] = "gpu"
    """Use torch.compile, which needs a compiler; gpu: only on CUDA; auto: if it is faster."""

    @model_validator(mode="after")
    def _check_spans(self) -> Self:
        _check_span(self.budget, percent=False)
        _check_span(self.evaluate_every, percent=True)
        _check_span(self.checkpoint_every, percent=True)
        if self.batch % self.accumulation:
            raise ValueError(
                f"batch {self.batch} is not divisible by accumulation {self.accumulation}"
            )
        return self


class FinetuneSpec(TrainSpec):
    """Fine-tuning: the choices of [train], with defaults for few labels."""

    budget: str = "6epochs"
    batch: Batch = 32
    lr: Rate = 5e-4
    schedule: Literal["cosine", "linear", "constant"] = "linear"
    warmup: FractionBelowOne = 0.1
    evaluate_every: str = "1epochs"
    layer_decay: PositiveFraction = 0.85


class Classification(ObjectiveSpec):
    """Predict a label for each text."""

    directions: ClassVar[tuple[Direction, ...]] = ("causal", "bidirectional")
    kind: Literal["classification"] = "classification"
    class_weights: Literal["none", "balanced"] = "none"
    """balanced: give rare classes the same weight as frequent ones."""
    label_smoothing: FractionBelowOne = 0.0
    """Fraction of the target that is spread evenly over all classes."""
    pooler: Pooler | Literal["auto"] = "auto"
    """What the head reads: last, first, mean, max, mean+max; auto: last if causal, else mean."""
    direction: Literal["auto", "causal", "bidirectional"] = "auto"
    """How the base reads; auto: as it was pretrained, bidirectional if it knows both."""
    dropout: FractionBelowOne = 0.1
    """Dropout before the classification layer."""
    lowercase: bool = False
    """Lowercase all texts."""
    token_dropout: FractionBelowOne = 0.0
    """Fraction of tokens replaced by <mask> in training; redrawn in each epoch."""
    long: LongTexts = "cut"
    """Texts longer than the context in training: cut after the context, or read in windows."""


def _check_span(text: str, *, percent: bool) -> None:
    if Span.parse(text).unit == "percent" and not percent:
        raise RecipeError(
            f"A budget cannot be a percentage: {text!r}.", hint="for example 20m or 3epochs"
        )
