"""Classes with too few texts to learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from greffe.doctor.checks.check import LabelledData, register, text_of_class
from greffe.doctor.finding import Finding

FEWEST_TEXTS = 10


@register("rare classes", order=5, kinds=("few_labels",))
def few_labels(data: LabelledData) -> Iterator[Finding]:
    """Find classes with fewer than ten texts to learn from: a warning."""
    where, examples = data.first
    counts = Counter(example.label for example in examples)
    few = sorted(
        (label for label in counts if counts[label] < FEWEST_TEXTS),
        key=lambda label: (counts[label], label),
    )
    if few:
        yield Finding(
            kind="few_labels",
            severity="warning",
            count=len(few),
            total=len(counts),
            where=where,
            example=text_of_class(examples, few[0]),
            detail={"label": few[0], "texts": counts[few[0]], "fewest": FEWEST_TEXTS},
        )
