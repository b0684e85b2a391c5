"""Labelled texts that all have the same label."""

from __future__ import annotations

from collections.abc import Iterator

from greffe.data.words import excerpt
from greffe.doctor.checks.check import LabelledData, register
from greffe.doctor.finding import Finding


@register("number of classes", order=12, kinds=("single_class",))
def single_class(data: LabelledData) -> Iterator[Finding]:
    """Find out whether the texts to learn from have only one label: serious."""
    where, examples = data.first
    labels = {example.label for example in examples}
    if len(labels) == 1:
        yield Finding(
            kind="single_class",
            severity="serious",
            count=len(examples),
            total=len(examples),
            where=where,
            example=excerpt(examples[0].text),
            detail={"label": labels.pop()},
        )
