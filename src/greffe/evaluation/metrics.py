"""Metrics of predicted probabilities: accuracy, F1, log loss, calibration.

Labels are strings; they are converted to indices here, and scikit-learn computes the metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from greffe.data.tables import Example
from greffe.errors import DataError
from greffe.inference.prediction import Prediction

CALIBRATION_BINS = 15


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 of one class."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int
    """Number of examples with this label."""


@dataclass(frozen=True)
class Evaluation:
    """Metrics of a classifier on labelled examples."""

    examples: int
    accuracy: float
    macro_f1: float
    """Mean F1 of the classes that occur among labels or predictions."""
    log_loss: float
    """Mean negative log-likelihood of the true class, in nats."""
    calibration_error: float
    """Expected calibration error over bins of equal width."""
    per_class: list[ClassScore]
    confusion: list[list[int]]
    """Rows are true classes, columns predicted ones, in the order of `labels`."""
    labels: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the metrics as JSON-serializable values."""
        return asdict(self)

    def summary(self) -> str:
        """Return the main metrics as one line."""
        return (
            f"accuracy {self.accuracy:.2%} · macro F1 {self.macro_f1:.4f} · "
            f"log loss {self.log_loss:.4f} · calibration error {self.calibration_error:.4f} · "
            f"{self.examples} {'example' if self.examples == 1 else 'examples'}"
        )


def label_indices(labels: Sequence[str], targets: Sequence[str]) -> np.ndarray:
    """Return the index of each target among `labels`; [N] int64."""
    index = {label: number for number, label in enumerate(labels)}
    unknown = sorted(set(targets) - set(index))
    if unknown:
        raise DataError(
            f"The examples have {'a label' if len(unknown) == 1 else 'labels'} "
            "that did not occur in training.",
            expected=f"one of {_quoted(labels)}",
            found=_quoted(unknown),
            hint="evaluate on examples with the labels seen in training, or finetune on these",
        )
    return np.array([index[label] for label in targets], dtype=np.int64)


def evaluate_probabilities(
    labels: Sequence[str], targets: Sequence[str], probabilities: np.ndarray
) -> Evaluation:
    """Evaluate probabilities [N, classes], with columns in the order of `labels`."""
    from sklearn import metrics

    if not targets:
        raise DataError("There are no examples to evaluate.", found="an empty table")
    assert probabilities.shape == (len(targets), len(labels))
    if not np.isfinite(probabilities).all():
        raise DataError(
            "The model's predictions are not finite.",
            hint="training diverged; train again with a lower learning rate",
        )
    classes = list(range(len(labels)))
    true = label_indices(labels, targets)
    # Single-precision rows deviate from a sum of one by more than scikit-learn tolerates.
    probabilities = np.asarray(probabilities, dtype=np.float64)
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    predicted = probabilities.argmax(axis=1)
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        true, predicted, labels=classes, zero_division=0.0
    )
    return Evaluation(
        examples=len(targets),
        accuracy=float(metrics.accuracy_score(true, predicted)),
        macro_f1=float(metrics.f1_score(true, predicted, average="macro", zero_division=0.0)),
        log_loss=float(metrics.log_loss(true, probabilities, labels=classes)),
        calibration_error=calibration_error(true, probabilities),
        per_class=[
            ClassScore(label, float(p), float(r), float(f), int(n))
            for label, p, r, f, n in zip(labels, precision, recall, f1, support, strict=True)
        ],
        confusion=metrics.confusion_matrix(true, predicted, labels=classes).tolist(),
        labels=list(labels),
    )


def evaluate_predictions(
    labels: Sequence[str], examples: Sequence[Example], predictions: Iterable[Prediction]
) -> Evaluation:
    """Evaluate predictions of any classifier; labels are checked before lazy ones are computed."""
    targets = [example.label for example in examples]
    label_indices(labels, targets)
    probabilities = np.array([[*prediction.probabilities.values()] for prediction in predictions])
    return evaluate_probabilities(labels, targets, probabilities)


def calibration_error(
    true: np.ndarray, probabilities: np.ndarray, bins: int = CALIBRATION_BINS
) -> float:
    """Return the expected calibration error of the top class, over bins (a, b] of equal width."""
    confidence = probabilities.max(axis=1)  # [N]
    correct = probabilities.argmax(axis=1) == true  # [N]
    # A bin's weight times its gap is the absolute sum of its members' gaps, divided by N.
    gaps = np.bincount(confidence_bins(confidence, bins), weights=confidence - correct)
    return float(np.abs(gaps).sum() / len(true))


def confidence_bins(confidence: np.ndarray, bins: int) -> np.ndarray:
    """Return the bin (a, b] of each confidence [N], out of `bins` of equal width."""
    index: np.ndarray = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    return index


def _quoted(labels: Sequence[str], most: int = 20) -> str:
    more = f", … ({len(labels)} in total)" if len(labels) > most else ""
    return ", ".join(repr(label) for label in labels[:most]) + more
