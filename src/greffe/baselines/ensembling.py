"""Ensembles: the geometric mean of several models' class probabilities.

As a run, an ensemble is a linear model without a fit: its features are the class scores of the
other runs, its weights average them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greffe.baselines.features import Reader
from greffe.baselines.linear_classifier import LinearClassifier, LinearSettings
from greffe.baselines.logistic_regression import softmax
from greffe.inference.prediction import centered_logs


def ensemble_classifier(
    readers: Sequence[Reader], labels_of: Sequence[Sequence[str]], labels: Sequence[str]
) -> LinearClassifier:
    """Average feature runs; `labels_of` has the class order of each."""
    classes = len(labels)
    columns = [labels.index(label) for run_labels in labels_of for label in run_labels]
    weights = np.eye(classes, dtype=np.float32)[columns] / len(readers)
    return LinearClassifier(
        LinearSettings(
            classes=classes,
            texts=0,
            c=0.0,
            base_weight=None,
            log_loss=None,
            accuracy=None,
            base_columns=0,
            run_columns=[reader.columns for reader in readers],
        ),
        tfidf=None,
        base=None,
        feature_runs=readers,
        mean=np.zeros(len(columns), dtype=np.float32),
        scale=np.ones(len(columns), dtype=np.float32),
        weights=weights,
        bias=np.zeros(classes, dtype=np.float32),
    )


def ensemble_probabilities(probabilities: Sequence[np.ndarray]) -> np.ndarray:
    """Return the normalized geometric mean of probabilities [N, classes] in one class order."""
    return softmax(np.mean([centered_logs(each) for each in probabilities], axis=0))
