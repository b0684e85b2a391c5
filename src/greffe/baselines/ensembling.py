"""Blend: several models that label the same classes, each with the same say.

Its probabilities are the geometric mean of theirs, scaled to one. As a run it is a linear model
without a fit: its features are what the others say, its weights the mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greffe.baselines.features import Reader
from greffe.baselines.linear_classifier import LinearClassifier
from greffe.baselines.linear_settings import LinearSettings
from greffe.baselines.regression import softmax
from greffe.baselines.run_features import centred_logs


def ensembled(
    readers: Sequence[Reader], labels_of: Sequence[Sequence[str]], labels: Sequence[str]
) -> LinearClassifier:
    """What `readers` say, averaged; each names its classes in an order of its own."""
    classes = len(labels)
    say = np.zeros((len(readers) * classes, classes), dtype=np.float32)
    places = (labels.index(label) for named in labels_of for label in named)
    for row, place in enumerate(places):
        say[row, place] = 1 / len(readers)
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
        mean=np.zeros(len(say), dtype=np.float32),
        scale=np.ones(len(say), dtype=np.float32),
        weights=say,
        bias=np.zeros(classes, dtype=np.float32),
    )


def ensemble_probabilities(probabilities: Sequence[np.ndarray]) -> np.ndarray:
    """The same of probabilities [N, classes] that are known already, classes in one order."""
    return softmax(np.mean([centred_logs(each) for each in probabilities], axis=0))
