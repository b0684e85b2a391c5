"""What a base knows of the classes before any fine-tuning: a linear classifier on its features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greffe.baselines.features import BaseReader, FeatureCache
from greffe.baselines.linear_classifier import LinearClassifier
from greffe.baselines.selection import FOLDS, fold_numbers
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.evaluation.metrics import label_indices
from greffe.model.model import Model
from greffe.seeding import rng

PROBED_TEXTS = 2_000


def probe_accuracy(
    model: Model,
    tokenizer: Tokenizer,
    examples: Sequence[Example],
    labels: list[str],
    *,
    causal: bool,
    folds: int = FOLDS,
    seed: int = 0,
) -> list[float]:
    """Accuracy on each fold, fitted to the others; of many examples a sample is taken.

    Equal seeds give equal folds: the figures of two bases are paired.
    """
    count = min(len(examples), PROBED_TEXTS)
    drawn = np.sort(rng(seed, "probe").choice(len(examples), count, replace=False))
    texts = [examples[place].text for place in drawn]
    targets = label_indices(labels, [examples[place].label for place in drawn])
    numbers = fold_numbers(texts, targets, seed, folds)
    base = FeatureCache(BaseReader(model, tokenizer, causal=causal))
    scores = []
    for number in np.unique(numbers[numbers >= 0]):
        inside, outside = np.flatnonzero(numbers != number), np.flatnonzero(numbers == number)
        fitted = LinearClassifier.fit(
            [texts[place] for place in inside],
            targets[inside],
            len(labels),
            use_tfidf=False,
            base=base,
            seed=seed,
        )
        guess = fitted.probabilities([texts[place] for place in outside]).argmax(axis=1)
        scores.append(float((guess == targets[outside]).mean()))
    return scores
