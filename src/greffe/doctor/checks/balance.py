"""Classes with most of a part's texts, or with hardly any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from greffe.doctor.checks.check import LabelledData, register, text_of_class
from greffe.doctor.finding import Finding, Severity

LARGE = 0.65  # fraction of the largest class that is worth a note
DOMINANT = 0.8  # fraction of the largest class that is a warning
RARE = 0.05
RARE_RELATIVE = 0.25  # of the fraction that each class would have if all were equal


@register("balance of labels", order=3, kinds=("imbalance", "rare_class"))
def balance(data: LabelledData) -> Iterator[Finding]:
    """Find a class that dominates, or one that is rare; the same of a later part is skipped."""
    reported: set[tuple[str, str, Severity]] = set()
    for name, examples in data.parts.items():
        counts = Counter(example.label for example in examples)
        for kind, label, severity in _unbalanced(counts):
            if (kind, label, severity) in reported:
                continue
            reported.add((kind, label, severity))
            yield Finding(
                kind=kind,
                severity=severity,
                count=counts[label],
                total=len(examples),
                where=name,
                example=text_of_class(examples, label),
                detail={"label": label},
            )


def _unbalanced(counts: Counter[str]) -> Iterator[tuple[str, str, Severity]]:
    total, classes = counts.total(), len(counts)
    if classes < 2:
        return
    largest = max(counts, key=lambda label: (counts[label], label))
    rarest = min(counts, key=lambda label: (counts[label], label))
    if counts[largest] > LARGE * total:
        yield "imbalance", largest, "warning" if counts[largest] > DOMINANT * total else "note"
    if counts[rarest] < min(RARE, RARE_RELATIVE / classes) * total:
        yield "rare_class", rarest, "warning"
