"""The probe of the transfer proof: cross-validated accuracy of a base's untouched features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greffe.baselines.cross_validation import assign_folds
from greffe.baselines.features import BaseReader, FeatureCache
from greffe.baselines.linear_classifier import fit_linear
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.evaluation.metrics import label_indices
from greffe.model.model import Model
from greffe.seeding import rng

PROBE_TEXTS = 2_000


def probe_accuracy(
    model: Model,
    tokenizer: Tokenizer,
    examples: Sequence[Example],
    labels: list[str],
    *,
    causal: bool,
    seed: int,
) -> list[float]:
    """Return the accuracy on each fold of a model fitted to the others; many texts are sampled.

    Equal seeds give equal folds, so the accuracies of two bases are paired.
    """
    from sklearn.model_selection import PredefinedSplit

    count = min(len(examples), PROBE_TEXTS)
    drawn = np.sort(rng(seed, "probe").choice(len(examples), count, replace=False))
    texts = [examples[index].text for index in drawn]
    targets = label_indices(labels, [examples[index].label for index in drawn])
    base = FeatureCache(BaseReader(model, tokenizer, causal=causal))
    accuracies = []
    for train, test in PredefinedSplit(assign_folds(texts, targets, seed)).split():
        sample = [examples[index] for index in drawn[train]]
        fitted = fit_linear(sample, labels, tfidf=False, base=base, seed=seed)
        predicted = fitted.probabilities([texts[index] for index in test]).argmax(axis=1)
        accuracies.append(float((predicted == targets[test]).mean()))
    return accuracies
