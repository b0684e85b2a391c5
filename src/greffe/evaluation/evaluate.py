"""Evaluate a classifier on labelled examples."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.config.options import LongTexts
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.evaluation.metrics import Evaluation, evaluate_predictions, label_indices
from greffe.inference.predict import predict, require_classifier
from greffe.inference.prediction import describe_cut
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
    temperature: float = 1.0,
) -> Evaluation:
    """Classify every example and evaluate the predictions."""
    require_classifier(model, labels)
    targets = [example.label for example in examples]
    label_indices(labels, targets)  # fail on unknown labels before predicting
    texts = (example.text for example in examples)
    predictions = list(
        predict(model, tokenizer, labels, texts, causal=causal, long=long, temperature=temperature)
    )
    if cuts := [prediction.cut for prediction in predictions if prediction.cut]:
        notice(describe_cut(len(cuts), sum(cuts), model.spec.context))
    return evaluate_predictions(labels, examples, predictions)
