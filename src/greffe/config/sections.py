"""Sections of a recipe: tokenizer, model, training, fine-tuning and classification.

Knows nothing of torch, data or runs. The docstring under each field is its help text.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

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
    OptionalContext,
    OptionalWidth,
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
from greffe.config.families import NATIVE, FamilyName
from greffe.config.lora import LoraSpec, tuple_of_list
from greffe.config.options import DeviceName, LongTexts, PrecisionName
from greffe.config.spans import Span
from greffe.config.spec import Spec
from greffe.errors import RecipeError

Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
Pooler = Literal["last", "first", "mean", "max", "mean+max", "mean+embedding"]
Betas = Annotated[tuple[FractionBelowOne, FractionBelowOne], BeforeValidator(tuple_of_list)]


class TokenizerSpec(Spec):
    """How text is split into tokens."""

    kind: Literal["bpe", "unigram"] = "bpe"
    """Training algorithm: bpe or unigram, both with byte fallback."""
    vocab: Vocab = 16_000
    """Vocabulary size, special tokens included; at least 300 to train a new tokenizer."""


class ModelSpec(Spec):
    """Shape of the base."""

    family: FamilyName = NATIVE
    """Family of the architecture: greffe, or that of an imported base, such as bert or llama.
    --set model.family=NAME also sets the choices below that make the family."""
    width: Width = 256
    """Size of a token's vector."""
    layers: Layers = 4
    """Number of transformer blocks."""
    heads: Width = 4
    """Attention heads per block; must divide the width."""
    kv_heads: OptionalWidth = 0
    """Heads of keys and values, each shared by several queries; must divide heads; 0: as heads."""
    feed_forward: FeedForward = 1024
    """Inner width of a block's two linear layers."""
    context: Context = 256
    """Maximum row length in tokens, in training and for a window in prediction."""
    position: PositionSpec = Field(default_factory=lambda: PositionSpec.of_kind("rotary"))
    """Position scheme and its choices, for example { kind = "alibi" }."""
    window: OptionalContext = 0
    """Local attention: a token attends to this many tokens on either side of it; 0: to all."""
    global_every: Layers = 3
    """With a window: every block whose number, from 0, this divides attends to all tokens."""
    norm: Literal["pre", "post"] = "pre"
    """Normalization before or after each branch; pre adds one at the end of the base."""
    norm_kind: Literal["layer", "rms"] = "layer"
    """Layer normalization, or RMS normalization, which does not center."""
    norm_epsilon: Epsilon = 1e-5
    """Added to the variance in normalizations."""
    norm_bias: bool = True
    """Whether layer normalizations have a bias."""
    embedding_norm: bool = False
    """Normalize the sum of embedding and position; the first norm of a pre-norm base is then left
    out."""
    embedding_width: OptionalWidth = 0
    """Width of the embedding, if a linear layer brings it to the width of the base; 0: width."""
    activation: Activation = "gelu"
    """Activation between a block's two linear layers."""
    gated: bool = False
    """Multiply the activation by a second linear layer of the same input, as in GEGLU and
    SwiGLU."""
    linear_bias: bool = True
    """Whether the linear layers of the blocks, and of a masked-token head, have biases."""
    head_bias: bool = True
    """Whether the matrix of a language-model head has a bias."""
    head_activation: Activation = "gelu"
    """Activation between the two linear layers of a masked-token head."""
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
        if self.kv_heads and self.heads % self.kv_heads:
            raise ValueError(f"heads {self.heads} are not divisible by kv_heads {self.kv_heads}")
        if self.window and not self.global_every:
            raise ValueError("global_every is 1 or more in a base with a window")
        self.position.check(self)
        return self

    @property
    def head_width(self) -> int:
        """Width of one attention head."""
        return self.width // self.heads

    @property
    def kv_width(self) -> int:
        """Width of all keys, and of all values, of a token."""
        return (self.kv_heads or self.heads) * self.head_width

    @property
    def expanded(self) -> int:
        """Outputs of a block's first linear layer, its gate included."""
        return (2 if self.gated else 1) * self.feed_forward

    @property
    def token_width(self) -> int:
        """Width of a token's vector in the embedding."""
        return self.embedding_width or self.width

    @property
    def skips_first_norm(self) -> bool:
        """Whether the first block has no norm before its attention: its input is normalized."""
        return self.embedding_norm and self.norm == "pre" and not self.embedding_width

    def is_local(self, block: int) -> bool:
        """Return whether a block, numbered from 0, attends to a window only."""
        return self.window > 0 and block % self.global_every != 0


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
    lora: LoraSpec = LoraSpec()
    """Low-rank adapters, for bases that are too large to be trained whole; for example
    { rank = 8 }. What is frozen by freeze has none."""
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

    def frozen_blocks(self, layers: int) -> int:
        """Return how many blocks of a base, from the lowest on, are never trained."""
        levels = layers + 1 if self.freeze == "base" else self.freeze
        return min(max(0, levels - 1), layers)

    def adapted_blocks(self, layers: int) -> int:
        """Return how many blocks of a base, from the highest on, have adapters."""
        return layers - self.frozen_blocks(layers) if self.lora.rank else 0


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
    """What the head reads: last, first, mean, max, mean+max, or mean+embedding, which adds the mean
    of the tokens' vectors in the embedding; auto: last if causal, else mean."""
    start: Literal["small", "probe"] = "small"
    """Weights of a new head: small and random; or probe: those of a logistic regression on what the
    head reads of the training texts, as in LP-FT (Kumar et al., 2022)."""
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
