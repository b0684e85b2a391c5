"""How good predicted probabilities are: accuracy, F1, log loss, calibration. Knows no model.

Labels go in as words and become indices here; scikit-learn does the counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from greffe.errors import DataError

CALIBRATION_BINS = 15


@dataclass(frozen=True)
class ClassScore:
    """How well one class is found."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int
    """Examples that truly have this label."""


@dataclass(frozen=True)
class Evaluation:
    """What a classifier is worth on labelled examples."""

    examples: int
    accuracy: float
    macro_f1: float
    """Mean F1 of the classes that occur, in truth or in prediction."""
    log_loss: float
    """Mean negative log-probability of the true class, in nats."""
    calibration_error: float
    """Mean gap between confidence and accuracy, over bins of equal width."""
    per_class: list[ClassScore]
    confusion: list[list[int]]
    """Rows are true classes, columns predicted ones, in the order of `labels`."""
    labels: list[str]

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, lists and words."""
        return asdict(self)

    def summary(self) -> str:
        """The main figures as one line."""
        return (
            f"accuracy {self.accuracy:.2%} · macro F1 {self.macro_f1:.4f} · "
            f"log loss {self.log_loss:.4f} · calibration error {self.calibration_error:.4f} · "
            f"{self.examples} {'example' if self.examples == 1 else 'examples'}"
        )


def label_indices(labels: Sequence[str], targets: Sequence[str]) -> np.ndarray:
    """Index of each true label among the known ones; [N] int64."""
    index = {label: number for number, label in enumerate(labels)}
    unknown = sorted(set(targets) - set(index))
    if unknown:
        raise DataError(
            f"The examples have {'a label' if len(unknown) == 1 else 'labels'} "
            "that training never saw.",
            expected=f"one of {_shown(labels)}",
            found=_shown(unknown),
            hint="evaluate on examples with the labels of training, or finetune on these",
        )
    return np.array([index[label] for label in targets], dtype=np.int64)


def evaluate_probabilities(
    labels: Sequence[str], targets: Sequence[str], probabilities: np.ndarray
) -> Evaluation:
    """Compare true labels with probabilities [N, classes], columns in the order of `labels`."""
    from sklearn import metrics

    if not targets:
        raise DataError("There are no examples to evaluate on.", found="an empty table")
    assert probabilities.shape == (len(targets), len(labels))
    if not np.isfinite(probabilities).all():
        raise DataError(
            "The model's scores are not finite: there is nothing to evaluate.",
            hint="its training diverged; train it again with a lower rate",
        )
    classes = list(range(len(labels)))
    true = label_indices(labels, targets)
    # Single-precision rows miss a sum of one by more than scikit-learn accepts in silence.
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


def calibration_error(
    true: np.ndarray, probabilities: np.ndarray, bins: int = CALIBRATION_BINS
) -> float:
    """Expected calibration error of the top class; bins (a, b] of equal width over [0, 1]."""
    confidence = probabilities.max(axis=1)  # [N]
    hit = probabilities.argmax(axis=1) == true  # [N]
    place = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    # A bin's share times its gap is the absolute sum of its members' gaps over all examples.
    gaps = np.bincount(place, weights=confidence - hit, minlength=bins)
    return float(np.abs(gaps).sum() / len(true))


def _shown(labels: Sequence[str], most: int = 20) -> str:
    more = f", … ({len(labels)} in all)" if len(labels) > most else ""
    return ", ".join(repr(label) for label in labels[:most]) + more
