"""Classes that the training part lacks, and classes that occur nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from greffe.data.tables import Example
from greffe.doctor.checks.check import LabelledData, register, text_of_class
from greffe.doctor.finding import Finding, PartName, Severity


@register("classes missing from a part", order=4, kinds=("unseen_class", "untested_class"))
def missing_classes(data: LabelledData) -> Iterator[Finding]:
    """Find classes that cannot be learned (a warning) or are never tested (a note)."""
    train = data.parts.get("train")
    others = {name: examples for name, examples in data.parts.items() if name != "train"}
    if not train or not others:
        return
    trained = {example.label for example in train}
    tested = {example.label for examples in others.values() for example in examples}
    for name, examples in others.items():
        yield from _missing("unseen_class", "warning", name, examples, trained)
    yield from _missing("untested_class", "note", "train", train, tested)


def _missing(
    kind: str,
    severity: Severity,
    where: PartName,
    examples: Sequence[Example],
    elsewhere: Iterable[str],
) -> Iterator[Finding]:
    counts = Counter(example.label for example in examples)
    missing = sorted(counts.keys() - elsewhere, key=lambda label: (-counts[label], label))
    if missing:
        yield Finding(
            kind=kind,
            severity=severity,
            count=len(missing),
            total=len(counts),
            where=where,
            example=text_of_class(examples, missing[0]),
            detail={"label": missing[0], "texts": counts[missing[0]], "other": "train"},
        )
