"""What the lab found, as one document: everything that its page shows, nothing of how it is shown.

Written as JSON beside the page. Knows no model and no training. Shares are fractions.
"""

from __future__ import annotations

from typing import Literal

from greffe.config.components import Direction
from greffe.config.spec import Spec
from greffe.evaluation.intervals import Estimate
from greffe.inference.matrices import Matrix
from greffe.model.parameters import ParameterRow
from greffe.study.document import StudyDocument

MistakeKind = Literal[
    "no_biases",
    "no_attention_output",
    "no_norms",
    "norms_without_shift",
    "wide_feed_forward",
    "default_feed_forward",
    "one_layer",
    "projections_a_head",
    "learned_positions",
    "round_vocabulary",
    "toy_vocabulary",
    "embedding_twice",
    "tied_head",
    "head_without_bias",
]


# --- question 1: the square mask and the positions ----------------------------------------------


class CurvePoint(Spec):
    """A figure after some steps; the band covers 95 % of the seeds' mean."""

    step: int
    mean: float
    low: float
    high: float


class MaskArm(Spec):
    """A small language model, trained to name the next word with the square mask or without."""

    has_mask: bool
    curve: list[CurvePoint]
    """Training loss, bits a word."""
    whole_bits: Estimate
    """Bits a word on new rows, the whole row being given, as in training."""
    past_bits: Estimate
    """Bits a word on the same rows, only the words before it being given, as when one writes."""
    possible: Estimate
    """Share of the words it writes that can follow the word before."""
    written: str
    """How the first seed goes on after one word."""


class MaskTask(Spec):
    """The next word of a made-up language whose entropy is known."""

    words: int
    followers: int
    """Words that can follow a word."""
    best_bits: float
    """Who knows the language and the past needs so many, on the same rows."""
    blind_bits: float
    """Who knows nothing needs so many."""
    steps: int
    seeds: int
    arms: list[MaskArm]


class OrderArm(Spec):
    """A small classifier, reading one way or both, with positions or without."""

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
    """A small causal language model with positions or without."""

    has_positions: bool
    bits: Estimate


class ChainTask(Spec):
    """The next word of a language in which it depends on the last two words, in their order."""

    words: int
    best_bits: float
    """Who knows the language and the past needs so many, on the same rows."""
    last_word_bits: float
    """Who knows the last word alone needs so many."""
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
    """What goes in and out of one model with both heads, for one text of so many tokens."""

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
    """Losses of fresh heads, in nats, beside those of someone who guesses evenly."""

    next_token: float
    next_token_guess: float
    classification: float
    classification_guess: float


class NextWords(Spec):
    """What the language model expects after a piece, with probabilities."""

    piece: str
    expected: list[tuple[str, float]]


class TwoAnswers(Spec):
    """What two trained heads say to one sentence: a language model and the classifier on it."""

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
    """Parameters of a base, and of the base with either head."""

    base: int
    classifier: int
    language_model: int


class Mistake(Spec):
    """A usual mistake and what it makes of the totals."""

    kind: MistakeKind
    formula: str
    """What it adds to or takes from the base or, where that stays right, the language model."""
    totals: Totals


class Counting(Spec):
    """Question 3: how many parameters, and how one miscounts them."""

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
    """What was read and how long the bases learnt from it."""

    is_sample: bool
    corpus: str
    """Where the unlabelled text is from: a file's name, or which texts served."""
    corpus_is_reviews: bool
    """No other text was given: the training reviews' own."""
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
