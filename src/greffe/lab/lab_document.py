"""The lab's results as one document: everything that its page shows, nothing of the layout.

Written as JSON beside the page. Accuracies are fractions.
"""

from __future__ import annotations

from typing import Literal

from greffe.config.components import Direction
from greffe.config.spec import Spec
from greffe.evaluation.intervals import Estimate
from greffe.inference.matrices import Matrix
from greffe.model.parameters import ParameterRow
from greffe.study.document import StudyDocument

BlockMistake = Literal[
    "no_biases",
    "no_attention_output",
    "no_norms",
    "norms_without_shift",
    "wide_feed_forward",
    "default_feed_forward",
    "one_layer",
    "projections_a_head",
]
"""Mistakes in the blocks of the base."""
OtherMistake = Literal[
    "learned_positions",
    "round_vocabulary",
    "toy_vocabulary",
    "embedding_twice",
    "tied_head",
    "head_without_bias",
]
"""Mistakes about positions, vocabulary and heads."""
MistakeKind = BlockMistake | OtherMistake


# --- question 1: the square mask and the positions ----------------------------------------------


class CurvePoint(Spec):
    """A value after some steps, with a 95% interval over seeds."""

    step: int
    mean: float
    low: float
    high: float


class MaskArm(Spec):
    """A small language model, trained to predict the next word with or without the square mask."""

    has_mask: bool
    curve: list[CurvePoint]
    """Training loss in bits per word."""
    whole_bits: Estimate
    """Bits per word on new rows with the whole row visible, as in training."""
    past_bits: Estimate
    """Bits per word on the same rows with only the past visible, as in generation."""
    possible: Estimate
    """Fraction of the generated words that can follow the word before."""
    written: str
    """What the model of the first seed generates after one word."""


class MaskTask(Spec):
    """Predicting the next word of an artificial language whose entropy is known."""

    words: int
    followers: int
    """How many words can follow a word."""
    best_bits: float
    """Bits per word of a perfect model of the language, on the same rows."""
    blind_bits: float
    """Bits per word of a uniform guess."""
    steps: int
    seeds: int
    arms: list[MaskArm]


class OrderArm(Spec):
    """A small classifier, causal or bidirectional, with or without positions."""

    reading: Direction
    has_positions: bool
    accuracy: Estimate


class OrderTask(Spec):
    """Which of two marked words comes first, among other words."""

    tokens: int
    steps: int
    seeds: int
    texts: int
    arms: list[OrderArm]


class ChainArm(Spec):
    """A small causal language model, with or without positions."""

    has_positions: bool
    bits: Estimate


class ChainTask(Spec):
    """Predicting the next word where it depends on the last two words, in their order."""

    words: int
    best_bits: float
    """Bits per word of a perfect model of the language, on the same rows."""
    last_word_bits: float
    """Bits per word of a model that knows the last word only."""
    blind_bits: float
    steps: int
    seeds: int
    arms: list[ChainArm]


class Attention(Spec):
    """Question 1: what the mask and the positions do, drawn and measured."""

    pictures: list[Matrix]
    mask: MaskTask
    order: OrderTask
    chain: ChainTask


# --- question 2: two heads on one base ----------------------------------------------------------


class HeadShapes(Spec):
    """Shapes of the inputs and outputs of one model with both heads, for one text."""

    recipe: str
    tokens: int
    vocab: int
    classes: int
    ids: list[int]
    hidden: list[int]
    next_token_weight: list[int]
    next_token_scores: list[int]
    next_token_targets: list[int]
    next_token_parameters: int
    classification_weight: list[int]
    classification_scores: list[int]
    classification_targets: list[int]
    classification_parameters: int


class Untrained(Spec):
    """Losses of untrained heads in nats, and those of uniform guesses."""

    next_token: float
    next_token_guess: float
    classification: float
    classification_guess: float


class NextWords(Spec):
    """The most likely next pieces after a piece, with probabilities."""

    piece: str
    expected: list[tuple[str, float]]


class TwoAnswers(Spec):
    """Predictions of two trained heads for one sentence: language model and classifier."""

    sentence: str
    pieces: list[str]
    next_words: list[NextWords]
    classes: list[tuple[str, float]]


class Heads(Spec):
    """Question 2: why the head is replaced."""

    shapes: HeadShapes
    untrained: Untrained
    answers: TwoAnswers


# --- question 3: parameters ---------------------------------------------------------------------


class Totals(Spec):
    """Parameters of a base, and of the base with each head."""

    base: int
    classifier: int
    language_model: int


class Mistake(Spec):
    """A common mistake and the totals it gives."""

    kind: MistakeKind
    formula: str
    """What it adds to or takes from the base or, where the base is right, the language model."""
    totals: Totals


class Counting(Spec):
    """Question 3: the number of parameters, and common mistakes in counting them."""

    recipe: str
    vocab: int
    width: int
    feed_forward: int
    layers: int
    heads: int
    rows: list[ParameterRow]
    targets: Totals
    mistakes: list[Mistake]


# --- the whole ----------------------------------------------------------------------------------


class LabData(Spec):
    """What the bases read, and their budget."""

    is_sample: bool
    corpus: str
    """Name of the file with the unlabelled text."""
    corpus_is_reviews: bool
    """Whether the bases read the training reviews, for lack of other text."""
    documents: int
    budget: str
    recipe: str


class LabDocument(Spec):
    """All five answers; the study answers questions 4 and 5."""

    format: Literal[1] = 1
    data: LabData
    attention: Attention
    heads: Heads
    counting: Counting
    study: StudyDocument
    causal_arm: str
    masked_arm: str
