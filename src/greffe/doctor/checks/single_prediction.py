"""Models that give nearly all test texts the same label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from greffe.data.words import excerpt
from greffe.doctor.checks.check import LabelledData, register
from greffe.doctor.finding import Finding

SAME_LABEL = 0.98  # fraction of predictions with one label that is serious
NEARLY_ALL = 0.9  # fraction of one true class that makes such predictions plausible


@register("models with a single answer", order=11, kinds=("one_class",), needs=("predictions",))
def single_prediction(data: LabelledData) -> Iterator[Finding]:
    """Find models with one label for all texts, though these are of several classes: serious."""
    _, examples = data.last
    largest = max(Counter(example.label for example in examples).values())
    if largest >= NEARLY_ALL * len(examples):
        return
    for model, predicted in data.predictions.items():
        label, count = Counter(predicted).most_common(1)[0]
        if count <= SAME_LABEL * len(predicted):
            continue
        wrong = (
            example.text
            for prediction, example in zip(predicted, examples, strict=True)
            if prediction == label != example.label
        )
        yield Finding(
            kind="one_class",
            severity="serious",
            count=count,
            total=len(predicted),
            where=model,
            example=excerpt(next(wrong, "")),
            detail={"label": label},
        )
