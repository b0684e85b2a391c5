"""Checks of labels alone: balance, order, classes that are rare or stand in one part only.

Knows neither tokens nor a corpus.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from greffe.data.tables import Example
from greffe.data.words import excerpt
from greffe.doctor.finding import Finding, PartName, Severity

Parts = Mapping[PartName, Sequence[Example]]

MOST = 0.8  # share of the largest class that is a warning
MUCH = 0.65  # and one that is worth a note
RARE = 0.05
RARE_BESIDE_EQUAL = 0.25  # of the share that a class would have if all were equal
FEWEST_TEXTS = 10
BLOCK_DEVIATIONS = -4.0  # fewer changes than chance would have, in standard deviations
ONE_ANSWER = 0.98
NEARLY_ALL = 0.9  # of the truth in one class: then one answer is no wonder


def check_balance(parts: Parts) -> Iterator[Finding]:
    """Classes with most of a part's texts, or with hardly any; what train has is said once."""
    said: set[tuple[str, str, Severity]] = set()
    for name, examples in parts.items():
        counts = Counter(example.label for example in examples)
        for kind, label, severity in _unbalanced(counts):
            if (kind, label, severity) in said:
                continue
            said.add((kind, label, severity))
            yield Finding(
                kind=kind,
                severity=severity,
                count=counts[label],
                total=len(examples),
                where=name,
                example=_of_class(examples, label),
                detail={"label": label, "share": counts[label] / len(examples)},
            )


def _unbalanced(counts: Counter[str]) -> Iterator[tuple[str, str, Severity]]:
    total, classes = counts.total(), len(counts)
    if classes < 2:
        return
    largest = max(counts, key=lambda label: (counts[label], label))
    rarest = min(counts, key=lambda label: (counts[label], label))
    if counts[largest] > MUCH * total:
        yield "imbalance", largest, "warning" if counts[largest] > MOST * total else "note"
    if counts[rarest] < min(RARE, RARE_BESIDE_EQUAL / classes) * total:
        yield "rare_class", rarest, "warning"


def check_few(examples: Sequence[Example], where: PartName) -> Iterator[Finding]:
    """Classes with too few texts to learn from."""
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
            example=_of_class(examples, few[0]),
            detail={"label": few[0], "texts": counts[few[0]], "fewest": FEWEST_TEXTS},
        )


def check_classes(parts: Parts) -> Iterator[Finding]:
    """Classes that the training part has not, and classes that it has alone."""
    train = parts.get("train")
    others = {name: examples for name, examples in parts.items() if name != "train"}
    if not train or not others:
        return
    trained = {example.label for example in train}
    seen = {example.label for examples in others.values() for example in examples}
    for name, examples in others.items():
        yield from _lone("unseen_class", "warning", name, examples, trained)
    yield from _lone("untested_class", "note", "train", train, seen)


def _lone(
    kind: str,
    severity: Severity,
    where: PartName,
    examples: Sequence[Example],
    elsewhere: Iterable[str],
) -> Iterator[Finding]:
    counts = Counter(example.label for example in examples)
    lone = sorted(counts.keys() - elsewhere, key=lambda label: (-counts[label], label))
    if lone:
        yield Finding(
            kind=kind,
            severity=severity,
            count=len(lone),
            total=len(counts),
            where=where,
            example=_of_class(examples, lone[0]),
            detail={"label": lone[0], "texts": counts[lone[0]], "other": "train"},
        )


def check_order(examples: Sequence[Example], where: PartName) -> Iterator[Finding]:
    """Labels that stand in blocks: the runs test for any number of classes."""
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


def one_class(arm: str, predicted: Sequence[str], targets: Sequence[Example]) -> Finding | None:
    """A model that gives nearly all test texts one label, though they are not of one class."""
    if not predicted:
        return None
    label, count = Counter(predicted).most_common(1)[0]
    largest = max(Counter(example.label for example in targets).values())
    if count <= ONE_ANSWER * len(predicted) or largest >= NEARLY_ALL * len(targets):
        return None
    wrong = (
        example.text
        for answer, example in zip(predicted, targets, strict=True)
        if answer == label != example.label
    )
    return Finding(
        kind="one_class",
        severity="serious",
        count=count,
        total=len(predicted),
        where=arm,
        example=excerpt(next(wrong, "")),
        detail={"label": label, "share": count / len(predicted)},
    )


def _of_class(examples: Sequence[Example], label: str) -> str:
    return excerpt(next(example.text for example in examples if example.label == label))
