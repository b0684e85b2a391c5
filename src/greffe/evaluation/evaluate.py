"""A classifier against labelled examples. Knows models and examples, no files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from greffe.config.recipe import LongTexts
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.evaluation.metrics import Evaluation, evaluate_probabilities, label_indices
from greffe.inference.predict import (
    Prediction,
    describe_cut,
    predict,
    require_classifier,
)
from greffe.model.model import Model
from greffe.progress import notice


def evaluate_classifier(
    model: Model,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    examples: Sequence[Example],
    *,
    causal: bool,
    long: LongTexts = "windows",
) -> Evaluation:
    """Predict every example's text and compare with its label."""
    require_classifier(model, labels)
    targets = [example.label for example in examples]
    label_indices(labels, targets)  # an unknown label is an error before the work, not after it
    texts = (example.text for example in examples)
    predictions = list(predict(model, tokenizer, labels, texts, causal=causal, long=long))
    if cuts := [prediction.cut for prediction in predictions if prediction.cut]:
        notice(describe_cut(len(cuts), sum(cuts), model.spec.context))
    return evaluate_predictions(labels, examples, predictions)


def evaluate_predictions(
    labels: Sequence[str], examples: Sequence[Example], predictions: Iterable[Prediction]
) -> Evaluation:
    """The same for predictions of any classifier; a lazy one is asked after labels are checked."""
    targets = [example.label for example in examples]
    label_indices(labels, targets)
    probabilities = np.array([[*prediction.probabilities.values()] for prediction in predictions])
    return evaluate_probabilities(labels, targets, probabilities)
