"""Labels that come in blocks instead of in random order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise

from greffe.data.words import excerpt
from greffe.doctor.checks.check import LabelledData, register
from greffe.doctor.finding import Finding

BLOCK_DEVIATIONS = -4.0  # fewer changes than by chance, in standard deviations


@register("order of labels", order=6, kinds=("order",))
def label_blocks(data: LabelledData) -> Iterator[Finding]:
    """Find labels in blocks by the runs test for any number of classes: a warning."""
    where, examples = data.first
    labels = [example.label for example in examples]
    counts = Counter(labels).values()
    total = len(labels)
    if total < 2 or len(counts) < 2:
        return
    changes = sum(first != second for first, second in pairwise(labels))
    squares, cubes = sum(count**2 for count in counts), sum(count**3 for count in counts)
    expected = total - squares / total
    variance = (squares * (squares + total * (total + 1)) - 2 * total * cubes - total**3) / (
        total**2 * (total - 1)
    )
    if variance <= 0 or changes > expected / 2:
        return
    if (changes - expected) / math.sqrt(variance) < BLOCK_DEVIATIONS:
        yield Finding(
            kind="order",
            severity="warning",
            count=changes,
            total=total,
            where=where,
            example=excerpt(
                ", ".join(f"{len(list(run))} × {label}" for label, run in groupby(labels))
            ),
            detail={"expected": round(expected)},
        )
