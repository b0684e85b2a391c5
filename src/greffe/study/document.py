"""The results of a study as one document: everything that a report shows.

It is written once as JSON, and reports are built from it. Accuracies and differences are fractions,
never percentages.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from greffe.config.bounds import Fraction
from greffe.config.recorded import Count, Moment
from greffe.config.spec import Spec
from greffe.doctor.descriptions import describe
from greffe.doctor.finding import Finding, PartName
from greffe.evaluation.intervals import Estimate
from greffe.evaluation.paired import McNemar
from greffe.inference.language_samples import LanguageSample
from greffe.inference.matrices import Matrix
from greffe.model.parameters import ParameterRow
from greffe.training.collapse import Restarted

LARGEST_NUMBER = 1e15

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
    """The smallest p that the sign-flip test can give with this many seeds."""
    mcnemar: McNemar
    smallest_detectable: float
    """The smallest true difference that is found with 80% power at the 5% level."""
    is_significant: bool
    """Whether the interval excludes zero and the adjusted p is below 5%."""


class EpochPoint(Spec):
    """Validation accuracy after some epochs; low and high are a 95% interval of the mean."""

    epoch: float
    mean: float
    low: float
    high: float
    values: list[float]


class CalibrationBin(Spec):
    """Predictions of similar confidence: their mean confidence and accuracy."""

    confidence: Fraction
    accuracy: Fraction
    count: Count


class Cost(Spec):
    """What one training of an arm took, on average over its seeds."""

    seconds: float
    tokens: int
    """Tokens that training read; 0 for linear models."""
    memory_bytes: int | None
    """Peak resident memory; None where the system does not report it."""
    parameters: int
    pretraining_seconds: float | None = None
    pretraining_tokens: int | None = None


class Arm(Spec):
    """One way to a classifier, with all its figures at the largest number of labels."""

    name: str
    kind: str
    """One of the kinds that `greffe.study.arms` registers."""
    run: str | None
    """The run whose base it starts from, or whose architecture it has."""
    feature_runs: list[str] = Field(default_factory=list)
    """Runs whose class scores are its features."""
    seeds: list[int]
    accuracy: Estimate
    """On the test texts that do not occur in training or validation."""
    accuracy_everywhere: Estimate | None
    """On all test texts; None if no text was left out above."""
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
    """Hash of the base before the first step; of the first seed where they differ."""
    kept_run: str | None = Field(None, pattern=r"^runs[/\\][\w.+-]*\w[\w.+-]*$")
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
    """Accuracy of an arm with a number of labels."""

    arm: str
    labels: int
    accuracy: Estimate


class Saving(Spec):
    """With `labels` labels, `arm` is as accurate as `against` with `equivalent` labels."""

    arm: str
    labels: int
    against: str
    equivalent: float | None
    """None if `against` is less accurate even with all labels."""
    low: float | None
    high: float | None
    """None: beyond what was measured."""
    most: int
    """The largest number of labels that was measured."""
    is_floor: bool = False
    """Whether `against` is better even with the fewest labels: `equivalent` is at most these."""


class Extrapolation(Spec):
    """The gain that more labels would bring, extrapolated from the curve."""

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


# --- restarts -------------------------------------------------------------------------------------


class RestartedCell(Restarted):
    """A training of the study that collapsed and was started again with a lower rate."""

    arm: str
    labels: int
    seed: int


# --- texts and tensors ----------------------------------------------------------------------------


class Marked(Spec):
    """A piece of a text and its weight for the predicted class; negative: against it."""

    text: str
    weight: float
    """Scaled so that the largest weight of a text is 1 or -1."""


class ArmPrediction(Spec):
    """One arm's prediction for a text."""

    arm: str
    label: str
    probability: float
    words: list[Marked]
    """The whole text in pieces; empty for an arm without word weights."""


class Disagreement(Spec):
    """A test text that arms classify differently."""

    text: str
    label: str
    """The true label."""
    predictions: list[ArmPrediction]


class LayerMove(Spec):
    """How far one part of the base moved while fine-tuning: |after - before| / |before|."""

    part: str = Field(
        pattern=r"^(embedding(_norm|_projection)?|positions|final_norm|block_[0-9]{1,6})$"
    )
    """Id of the part: embedding, positions, embedding_norm, final_norm, block_N …"""
    tensors: int
    moved: dict[str, float]
    """By arm; mean over seeds."""


class Probe(Spec):
    """A linear classifier on an untouched base's features, cross-validated on training texts."""

    name: str
    accuracy: Estimate


class TransferProof(Spec):
    """Evidence that the pretrained weights were used, and how far they moved."""

    taken: list[str]
    new: list[str]
    left: list[str]
    base_hash: str
    initial_hashes: dict[str, list[str]]
    """Hashes of the base before the first step, by arm, one for each seed."""
    moves: list[LayerMove]
    probes: list[Probe]


# --- the whole ------------------------------------------------------------------------------------


class Part(Spec):
    """One part of the labelled data."""

    name: PartName
    source: str
    """A file, or that it was split off."""
    texts: int
    by_label: dict[str, int]
    digest: str


class DataSummary(Spec):
    """The labelled data and its three parts."""

    labels: list[str]
    parts: list[Part]
    repeated: int
    """Test texts that also occur in training or validation, exactly or nearly."""
    scored: int
    """Test texts that the figures are about."""


class Repeat(Spec):
    """Everything that is needed to repeat the study."""

    command: list[str]
    created: Moment
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
    arms: list[Arm] = Field(min_length=1)
    comparisons: list[Comparison] = Field(min_length=1)
    """The first is the study's question: pretrained against scratch."""
    label_curves: LabelCurves | None
    disagreements: list[Disagreement]
    parameters: dict[str, list[ParameterRow]]
    """By run."""
    pictures: list[Matrix]
    samples: list[LanguageSample]
    proof: TransferProof
    findings: list[Finding]
    restarts: list[RestartedCell] = Field(default_factory=list)
    """Trainings whose loss did not fall, also those that collapsed with lower rates too."""
    repeat: Repeat

    @model_validator(mode="before")
    @classmethod
    def _check_numbers(cls, tree: Any) -> Any:
        """Check that every number can be formatted."""
        rest = [tree]
        while rest:
            value = rest.pop()
            if isinstance(value, dict | list):
                rest.extend(value.values() if isinstance(value, dict) else value)
            elif isinstance(value, int | float) and abs(value) > LARGEST_NUMBER:
                raise ValueError(f"a number above {LARGEST_NUMBER:.0e}")
        return tree

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        """Check that arms and classes are the same in all parts."""
        arms, classes = {arm.name for arm in self.arms}, len(self.data.labels)
        named = {name for pair in self.comparisons for name in (pair.first, pair.second)}
        named |= {one.arm for text in self.disagreements for one in text.predictions}
        named |= {one.arm for one in self.restarts}
        if curves := self.label_curves:
            named |= {point.arm for point in curves.points}
            named |= {name for one in curves.savings for name in (one.arm, one.against)}
        if unknown := named - arms:
            raise ValueError(f"arms: there is no {min(unknown)!r:.40}")
        for arm in self.arms:
            if [len(row) for row in arm.confusion] != [classes] * classes:
                raise ValueError(f"arms: the confusion of {arm.name!r:.40} has another size")
        return self

    @field_validator("pictures")
    @classmethod
    def _check_pictures(cls, pictures: list[Matrix]) -> list[Matrix]:
        """Check that the values of each drawing are a table."""
        for picture in pictures:
            widths = {len(row) for row in picture.values}
            if len(widths) != 1 or widths == {0}:
                raise ValueError("values that are no table")
        return pictures

    @field_validator("findings")
    @classmethod
    def _check_findings(cls, findings: list[Finding]) -> list[Finding]:
        """Check that each finding has the figures that its description names."""
        for finding in findings:
            try:
                describe(finding)
            except KeyError as error:
                raise ValueError(f"{finding.kind!r:.40} without {error}") from None
        return findings
