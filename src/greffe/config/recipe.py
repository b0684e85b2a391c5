"""Recipe and its parts: every choice of a run, frozen and typed, read from and written as TOML.

Knows nothing of torch, data or runs. The sentence under each field is its help text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from greffe.config.changes import apply_changes
from greffe.config.explain import explain
from greffe.config.spans import Span
from greffe.errors import RecipeError

Direction = Literal["causal", "bidirectional"]
Pooler = Literal["last", "first", "mean", "max", "mean+max"]
LongTexts = Literal["windows", "cut"]
"""What is read of a text longer than the context: all of it in parts, or its beginning."""
Momentum = Annotated[float, Field(ge=0, lt=1)]


class Spec(BaseModel):
    """A frozen group of choices; an unknown key is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False
    )


def _check_span(text: str, *, percent: bool) -> None:
    if Span.parse(text).unit == "percent" and not percent:
        raise RecipeError(
            f"A budget cannot be a percentage: {text!r}.", hint="for example 20m or 3epochs"
        )


# --- the parts ----------------------------------------------------------------------------------


class TokenizerSpec(Spec):
    """How the text is cut into pieces."""

    kind: Literal["bpe", "unigram"] = "bpe"
    """Training algorithm: bpe or unigram, both with byte fallback."""
    vocab: int = Field(16_000, ge=1, le=1_000_000)
    """Number of pieces, special ones included; a new one needs at least 300."""


class Sinusoidal(Spec):
    """Sines and cosines added to the embedding; no parameters."""

    kind: Literal["sinusoidal"] = "sinusoidal"


class Learned(Spec):
    """One learned vector a position, added to the embedding."""

    kind: Literal["learned"] = "learned"


class Rotary(Spec):
    """Queries and keys turned by an angle that grows with the position."""

    kind: Literal["rotary"] = "rotary"
    base: float = Field(10_000.0, gt=1)
    """Slowest wavelength, in positions over 2π."""


class Alibi(Spec):
    """A penalty on attention that grows with distance, another slope for each head."""

    kind: Literal["alibi"] = "alibi"


class NoPosition(Spec):
    """No positions: to see what breaks without them."""

    kind: Literal["none"] = "none"


PositionSpec = Annotated[
    Sinusoidal | Learned | Rotary | Alibi | NoPosition, Field(discriminator="kind")
]


class ModelSpec(Spec):
    """Shape of the base."""

    width: int = Field(256, ge=1)
    """Size of a token's vector."""
    layers: int = Field(4, ge=0)
    """Number of transformer blocks."""
    heads: int = Field(4, ge=1)
    """Attention heads a block; must divide the width."""
    feed_forward: int = Field(1024, ge=1)
    """Inner width of a block's two linear layers."""
    context: int = Field(256, ge=8)
    """Longest row in tokens: of a training row, and of a window at prediction."""
    position: PositionSpec = Rotary()
    """Position scheme: sinusoidal, learned, rotary, alibi or none."""
    norm: Literal["pre", "post"] = "pre"
    """Where layer normalisation stands in a block; pre adds one more at the end of the base."""
    activation: Literal["relu", "gelu"] = "gelu"
    """Between a block's two linear layers."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of activations dropped while training."""
    scale_embedding: bool = False
    """Multiply embeddings by the square root of the width, as in the original transformer."""
    tied: bool = True
    """Language-model heads use the embedding as their weight."""

    @model_validator(mode="after")
    def _heads_fit(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by heads {self.heads}")
        if self.position.kind == "rotary" and (self.width // self.heads) % 2:
            raise ValueError(
                f"rotary positions need an even width a head, found {self.width // self.heads}"
            )
        return self


class Causal(Spec):
    """Predict each token from those before it."""

    directions: ClassVar[tuple[Direction, ...]] = ("causal",)
    kind: Literal["causal"] = "causal"


class MaskingSpec(Spec):
    """How tokens are hidden; shared by the objectives that hide some."""

    directions: ClassVar[tuple[Direction, ...]] = ("bidirectional",)
    ratio: float = Field(0.15, gt=0, lt=1)
    """Share of a row's tokens that are predicted."""
    mask: float = Field(0.8, ge=0, le=1)
    """Of these, the share replaced by <mask>."""
    random: float = Field(0.1, ge=0, le=1)
    """Of these, the share replaced by a random token; the rest stays as it is."""
    whole_word: bool = False
    """Hide all pieces of a word together."""

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        if self.mask + self.random > 1:
            raise ValueError(f"mask {self.mask} + random {self.random} is more than 1")
        return self


class Masked(MaskingSpec):
    """Predict hidden tokens from both sides."""

    kind: Literal["masked"] = "masked"


class NextSentence(MaskingSpec):
    """Masked tokens, and whether the second half follows the first."""

    kind: Literal["next_sentence"] = "next_sentence"
    weight: float = Field(1.0, ge=0)
    """Weight of the next-sentence term beside the masked one."""


class Hybrid(MaskingSpec):
    """One set of weights trained both ways: it generates and reads in both directions."""

    directions: ClassVar[tuple[Direction, ...]] = ("causal", "bidirectional")
    kind: Literal["hybrid"] = "hybrid"
    causal_share: float = Field(0.5, gt=0, lt=1)
    """Share of a batch's rows read left to right; the others are masked."""


class Classification(Spec):
    """A label for each text."""

    directions: ClassVar[tuple[Direction, ...]] = ("causal", "bidirectional")
    kind: Literal["classification"] = "classification"
    class_weights: Literal["none", "balanced"] = "none"
    """balanced: rare classes weigh as much as frequent ones."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Share of the target spread evenly over all classes."""
    pooler: Pooler | Literal["auto"] = "auto"
    """What the head reads: last, first, mean, max, mean+max; auto: last if causal, else mean."""
    direction: Literal["auto", "causal", "bidirectional"] = "auto"
    """How the base reads; auto: as it was pretrained, both ways if it knows both."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout before the classification layer."""
    lowercase: bool = False
    """Read all texts in small letters: what is praised in capitals is praised all the same."""
    token_dropout: float = Field(0.0, ge=0, lt=1)
    """Share of a text's tokens hidden behind <mask> while training, others in each epoch."""
    long: LongTexts = "cut"
    """What training reads of texts beyond the context: their beginning (cut), or all in windows."""


ObjectiveSpec = Annotated[
    Causal | Masked | NextSentence | Hybrid | Classification, Field(discriminator="kind")
]


class TrainSpec(Spec):
    """One training: how long, how fast, what moves."""

    budget: str = "2000steps"
    """How long: 20m, 1h30m, 2000steps, 3epochs, 50Mtokens."""
    least_steps: int = Field(0, ge=0)
    """Make a budget in epochs at least so many steps long: few texts need more epochs."""
    batch: int = Field(32, ge=1)
    """Rows or texts a step, over all ranks and accumulation."""
    accumulation: int = Field(1, ge=1)
    """Parts in which a step's rows are computed, to save memory; dropout aside, nothing changes."""
    lr: float = Field(1e-3, gt=0)
    """Highest learning rate."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """Shape of the learning rate after warm-up."""
    warmup: float = Field(0.05, ge=0, lt=1)
    """Share of the budget in which the learning rate rises from zero."""
    final_lr: float = Field(0.0, ge=0, le=1)
    """Where cosine and linear end, as a share of lr."""
    weight_decay: float = Field(0.01, ge=0)
    """AdamW's decay of matrices; biases, norms and embeddings are spared."""
    betas: tuple[Momentum, Momentum] = (0.9, 0.98)
    """AdamW's averaging."""
    epsilon: float = Field(1e-8, gt=0)
    """AdamW's epsilon."""
    clip: float = Field(1.0, ge=0)
    """Largest gradient norm; 0 switches clipping off."""
    evaluate_every: str = "5%"
    """How often validation runs: 5%, 1epochs, 200steps, 2m."""
    evaluate_rows: int = Field(128, ge=1)
    """Most validation rows a look while pretraining; fine-tuning always looks at all."""
    checkpoint_every: str = "2m"
    """How often the state is saved for resuming."""
    soup: int = Field(1, ge=1)
    """Fine-tunings from the same start whose weights are averaged; each takes the whole budget."""
    patience: int = Field(0, ge=0)
    """Stop after so many evaluations without a better one; 0: never."""
    keep: Literal["best", "last"] = "best"
    """Which weights the run ends with."""
    freeze: Annotated[int, Field(ge=0)] | Literal["base"] = 0
    """Freeze the embedding and the lowest N-1 blocks, or the whole base; 0: nothing."""
    gradual_unfreezing: bool = False
    """First epoch the head alone, then one more block an epoch, from the top down."""
    layer_decay: float = Field(1.0, gt=0, le=1)
    """Learning rate of each layer as a share of the one above it (discriminative rates)."""
    embedding_rate: float = Field(1.0, gt=0)
    """Learning rate of the embedding as a multiple of what its layer would have."""
    nonfinite_limit: int = Field(10, ge=1)
    """So many steps with a non-finite loss in a row end the run."""
    threads: int = Field(0, ge=0)
    """Compute threads; 0: one a core."""
    compile: bool | Literal["auto"] = False
    """Use torch.compile, if a C++ compiler is there; auto: if it is faster on a few steps."""

    @model_validator(mode="after")
    def _spans_read(self) -> Self:
        _check_span(self.budget, percent=False)
        _check_span(self.evaluate_every, percent=True)
        _check_span(self.checkpoint_every, percent=True)
        if self.batch % self.accumulation:
            raise ValueError(
                f"batch {self.batch} is not divisible by accumulation {self.accumulation}"
            )
        return self


class FinetuneSpec(TrainSpec):
    """Training of a classifier; the same choices as [train], with defaults for few labels."""

    budget: str = "6epochs"
    batch: int = Field(32, ge=1)
    lr: float = Field(5e-4, gt=0)
    schedule: Literal["cosine", "linear", "constant"] = "linear"
    warmup: float = Field(0.1, ge=0, lt=1)
    evaluate_every: str = "1epochs"
    layer_decay: float = Field(0.85, gt=0, le=1)


class Recipe(Spec):
    """Every choice of a run."""

    name: str = "custom"
    """What this recipe is called."""
    seed: int = Field(0, ge=0)
    """Weights, order and corruption are functions of it."""
    warm_start: Literal["none", "word_vectors"] = "none"
    """How a new embedding begins: at random (replanted: as spelt), or with counted word vectors."""
    tokenizer: TokenizerSpec = TokenizerSpec()
    model: ModelSpec = ModelSpec()
    objective: ObjectiveSpec = Masked()
    train: TrainSpec = TrainSpec()
    finetune: FinetuneSpec = FinetuneSpec()
    classification: Classification = Classification()
    """Objective used when this base is fine-tuned."""

    @model_validator(mode="after")
    def _members_teach(self) -> Self:
        if self.train.soup > 1 and self.objective.kind != "classification":
            raise ValueError(
                f"train.soup = 1 (found {self.train.soup}): only fine-tunings are averaged, "
                "by finetune.soup"
            )
        return self

    def to_toml(self) -> str:
        """The whole recipe as TOML, defaults included."""
        return tomli_w.dumps(self.model_dump(mode="json"))

    def with_changes(self, changes: Iterable[str]) -> Recipe:
        """A copy with `a.b=value` assignments applied; values are TOML, or plain words."""
        tree = self.model_dump(mode="json")
        apply_changes(tree, changes, _COMPONENTS)
        return recipe_from_dict(tree, "recipe")

    def with_vocab(self, size: int) -> Recipe:
        """A copy that says how many pieces the tokenizer turned out to have."""
        return self.model_copy(
            update={"tokenizer": self.tokenizer.model_copy(update={"vocab": size})}
        )


# --- heads: what a saved model needs to be rebuilt ------------------------------------------------


class NextTokenHead(Spec):
    """Vocabulary scores for the next token."""

    kind: Literal["next_token"] = "next_token"
    tied: bool = True


class MaskedTokenHead(Spec):
    """Vocabulary scores for a hidden token: one more layer before the matrix."""

    kind: Literal["masked_token"] = "masked_token"
    tied: bool = True


class NextSentenceHead(Spec):
    """Two scores from the first token: follows, or does not."""

    kind: Literal["next_sentence"] = "next_sentence"


class ClassificationHead(Spec):
    """Class scores from pooled hidden states."""

    kind: Literal["classification"] = "classification"
    classes: int = Field(ge=2)
    pooler: Pooler = "mean"
    dropout: float = Field(0.0, ge=0, lt=1)


HeadSpec = Annotated[
    NextTokenHead | MaskedTokenHead | NextSentenceHead | ClassificationHead,
    Field(discriminator="kind"),
]


# --- reading ------------------------------------------------------------------------------------


_COMPONENTS: dict[str, tuple[type[Spec], ...]] = {
    "objective": get_args(get_args(ObjectiveSpec)[0]),
    "model.position": get_args(get_args(PositionSpec)[0]),
}


def recipe_from_dict(tree: Mapping[str, Any], source: str) -> Recipe:
    """Validated recipe, or a RecipeError that names the key, what it takes and what was found."""
    try:
        return Recipe.model_validate(tree)
    except ValidationError as error:
        raise explain(error, source, Recipe) from None
