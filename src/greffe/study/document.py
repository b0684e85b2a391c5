"""What a study found, as one document: everything that a report shows, nothing of how it is shown.

Written as JSON beside the report, and read back to build it again. Knows no model and no training.
Accuracies, shares and differences are fractions, never percentages.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from greffe.config.spec import Spec
from greffe.doctor.finding import Finding, PartName
from greffe.evaluation.intervals import Estimate
from greffe.evaluation.paired import McNemar
from greffe.inference.language_samples import LanguageSample
from greffe.inference.matrices import Matrix
from greffe.model.parameters import ParameterRow

# --- figures ------------------------------------------------------------------------------------


class Comparison(Spec):
    """One arm against another, paired by seed and by test text."""

    first: str
    second: str
    difference: Estimate
    """First minus second."""
    p: float
    """Exact sign-flip test over seeds, two-sided."""
    p_adjusted: float
    """The same, corrected for the number of comparisons in this study (Holm)."""
    smallest_p: float
    """What the sign-flip test could have given at best with this many seeds."""
    mcnemar: McNemar
    smallest_detectable: float
    """The smallest true difference that this study would have shown four times out of five."""
    is_significant: bool
    """Interval without zero, and adjusted p below 5 %."""


class EpochPoint(Spec):
    """Validation accuracy after some epochs; the band covers 95 % of the seeds' mean."""

    epoch: float
    mean: float
    low: float
    high: float
    values: list[float]


class CalibrationBin(Spec):
    """Predictions of about one confidence: how sure they were, how often they were right."""

    confidence: float
    accuracy: float
    count: int


class Cost(Spec):
    """What one training of an arm took, on average over its seeds."""

    seconds: float
    tokens: int
    """Tokens that training read; none for linear models."""
    memory_bytes: int | None
    """Peak resident memory; none where the system does not tell."""
    parameters: int
    pretraining_seconds: float | None = None
    pretraining_tokens: int | None = None


class Arm(Spec):
    """One way to a classifier, with all its figures at the largest number of labels."""

    name: str
    kind: str
    """One of the kinds that `greffe.study.arms` registers."""
    run: str | None
    """The run whose base it starts from, or whose shape it takes."""
    feature_runs: list[str] = Field(default_factory=list)
    """Runs that it asks about each text."""
    seeds: list[int]
    accuracy: Estimate
    """On the test texts that do not stand in training or validation."""
    accuracy_everywhere: Estimate | None
    """On all test texts, where some were left out above."""
    macro_f1: Estimate
    log_loss: Estimate
    calibration_error: Estimate
    epochs: list[EpochPoint]
    """Empty for arms without epochs."""
    confusion: list[list[float]]
    """Mean over seeds; rows are true classes, columns predicted ones."""
    calibration: list[CalibrationBin]
    cost: Cost
    initial_base: str | None
    """Hash of the base before the first step; a scratch arm has one a seed: the first is shown."""
    kept_run: str | None = None
    """Where the run of its best seed (by validation) is kept, relative to the study."""

    @field_validator("kind")
    @classmethod
    def _is_registered(cls, kind: str) -> str:
        from greffe.study.arms import ARMS

        if kind not in ARMS:
            raise ValueError(f"{kind!r} is not one of {', '.join(ARMS)}")
        return kind


# --- labels -------------------------------------------------------------------------------------


class LabelPoint(Spec):
    """Accuracy of an arm with so many labels."""

    arm: str
    labels: int
    accuracy: Estimate


class Saving(Spec):
    """With `labels` labels, `arm` does what `against` does with `equivalent`."""

    arm: str
    labels: int
    against: str
    equivalent: float | None
    """None if `against` did not get there with all its labels."""
    low: float | None
    high: float | None
    """None: beyond what was measured."""
    most: int
    """The largest number of labels that was measured."""
    is_floor: bool = False
    """`against` is better with its fewest labels already: `equivalent` is at most these."""


class Extrapolation(Spec):
    """What more labels would bring to an arm, by the curve so far."""

    arm: str
    labels: int
    more: int
    gain: float
    low: float
    high: float


class LabelCurves(Spec):
    """Accuracy against labels."""

    points: list[LabelPoint]
    savings: list[Saving]
    extrapolations: list[Extrapolation]


# --- words, tensors, pictures ---------------------------------------------------------------------


class Marked(Spec):
    """A piece of a text and how much it spoke for the predicted class (negative: against it)."""

    text: str
    weight: float
    """Scaled so that the strongest piece of a text has 1 or -1."""


class Reading(Spec):
    """What one arm made of a text."""

    arm: str
    label: str
    probability: float
    words: list[Marked]
    """The whole text in pieces; empty for an arm that cannot say."""


class Disagreement(Spec):
    """A test text that arms read differently."""

    text: str
    targets: str
    readings: list[Reading]


class LayerMove(Spec):
    """How far one part of the base moved while fine-tuning: |after - before| / |before|."""

    part: str
    """Id of the part: embedding, positions, final_norm, or block_N."""
    tensors: int
    moved: dict[str, float]
    """By arm; mean over seeds."""


class Probe(Spec):
    """A linear classifier on an untouched base's features, cross-validated on training texts."""

    name: str
    accuracy: Estimate


class TransferProof(Spec):
    """That the pretrained weights were really there, and what became of them."""

    taken: list[str]
    new: list[str]
    left: list[str]
    base_hash: str
    initial_hashes: dict[str, list[str]]
    """Hash of the base before the first step, by arm, one a seed."""
    moves: list[LayerMove]
    probes: list[Probe]


# --- the whole ------------------------------------------------------------------------------------


class Part(Spec):
    """One part of the labelled data."""

    name: PartName
    source: str
    """A file, or how it was split off."""
    texts: int
    by_label: dict[str, int]
    digest: str


class DataSummary(Spec):
    """The labelled data and how it was parted."""

    labels: list[str]
    parts: list[Part]
    repeated: int
    """Test texts that stand, word for word or nearly, in training or validation."""
    scored: int
    """Test texts that the figures are about."""


class Repeat(Spec):
    """Everything that is needed to do it again."""

    command: list[str]
    created: str
    versions: dict[str, str]
    machine: dict[str, str | int]
    seeds: list[int]
    recipe: str
    """The fine-tuning recipe, as TOML."""
    hashes: dict[str, str]


class StudyDocument(Spec):
    """A whole study."""

    format: Literal[1] = 1
    name: str
    data: DataSummary
    arms: list[Arm]
    comparisons: list[Comparison]
    """The first is the study's question: pretrained against scratch."""
    label_curves: LabelCurves | None
    disagreements: list[Disagreement]
    parameters: dict[str, list[ParameterRow]]
    """By run."""
    pictures: list[Matrix]
    samples: list[LanguageSample]
    proof: TransferProof
    findings: list[Finding]
    repeat: Repeat
