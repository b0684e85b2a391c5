"""Texts that repeat another one of the same part."""

from __future__ import annotations

from collections.abc import Iterator

from greffe.data.words import excerpt
from greffe.doctor.checks.check import Copies, LabelledData, register
from greffe.doctor.finding import Finding, PartName


@register("copies within a part", order=2, kinds=("duplicates", "near_duplicates"))
def repeated_texts(data: LabelledData) -> Iterator[Finding]:
    """Find texts that repeat an earlier one of their part, exactly or nearly: a note."""
    for part in data.parts:
        yield from _within(data.copies, part)


def _within(copies: Copies, part: PartName) -> Iterator[Finding]:
    exact: set[int] = set()
    groups: set[int] = set()
    equal: list[str] = []
    near: list[str] = []
    for index in copies.indices(part):
        number, group = copies.found.exact[index], copies.found.groups[index]
        if number in exact:
            equal.append(copies.text(index))
        elif group in groups:
            near.append(copies.text(index))
        exact.add(number)
        groups.add(group)
    for kind, texts in (("duplicates", equal), ("near_duplicates", near)):
        if texts:
            yield Finding(
                kind=kind,
                severity="note",
                count=len(texts),
                total=copies.total[part],
                where=part,
                example=excerpt(texts[0]),
            )
