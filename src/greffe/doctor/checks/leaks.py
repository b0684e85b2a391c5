"""Texts of one part that also occur in another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from greffe.data.words import excerpt
from greffe.doctor.checks.check import Copies, LabelledData, register
from greffe.doctor.finding import Finding, PartName

SEPARATOR = " ≈ "
EXCERPT = 160


@register("copies across parts", order=0, kinds=("leak", "near_leak"))
def leaks(data: LabelledData) -> Iterator[Finding]:
    """Find texts of a later part that repeat one of an earlier part: always serious."""
    for first, last in combinations(data.parts, 2):
        yield from _across(data.copies, first, last)


def _across(copies: Copies, first: PartName, last: PartName) -> Iterator[Finding]:
    exact = {copies.found.exact[index] for index in copies.indices(first)}
    index_of = {copies.found.groups[index]: index for index in copies.indices(first)}
    equal: list[str] = []
    near: list[str] = []
    for index in copies.indices(last):
        if copies.found.exact[index] in exact:
            equal.append(excerpt(copies.text(index)))
        elif (other := index_of.get(copies.found.groups[index])) is not None:
            near.append(_pair(copies.text(index), copies.text(other)))
    for kind, texts in (("leak", equal), ("near_leak", near)):
        if texts:
            yield Finding(
                kind=kind,
                severity="serious",
                count=len(texts),
                total=copies.total[last],
                where=f"{first} and {last}",
                example=texts[0],
            )


def _pair(first: str, second: str) -> str:
    half = (EXCERPT - len(SEPARATOR)) // 2
    return f"{excerpt(first, half)}{SEPARATOR}{excerpt(second, half)}"
