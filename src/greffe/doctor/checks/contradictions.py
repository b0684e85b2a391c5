"""Equal texts with different labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from greffe.data.words import excerpt
from greffe.doctor.checks.check import LabelledData, register
from greffe.doctor.finding import Finding


@register("contradictory labels", order=1, kinds=("contradiction",))
def contradictions(data: LabelledData) -> Iterator[Finding]:
    """Find texts that carry more than one label: a warning."""
    copies = data.copies
    indices: defaultdict[int, list[int]] = defaultdict(list)
    for index, number in enumerate(copies.found.exact):
        indices[number].append(index)
    labels = {
        number: sorted({copies.examples[index][1].label for index in members})
        for number, members in indices.items()
    }
    contradictory = [number for number in indices if len(labels[number]) > 1]
    if not contradictory:
        return
    rows = [index for number in contradictory for index in indices[number]]
    parts = {copies.examples[index][0] for index in rows}
    shown = contradictory[0]
    yield Finding(
        kind="contradiction",
        severity="warning",
        count=len(rows),
        total=sum(copies.total.values()),
        where=" and ".join(name for name in copies.total if name in parts),
        example=excerpt(f"{' / '.join(labels[shown])}: {copies.text(indices[shown][0])}"),
        detail={"texts": len(contradictory)},
    )
