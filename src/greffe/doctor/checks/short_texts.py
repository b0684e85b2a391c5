"""Texts that are empty or a single word."""

from __future__ import annotations

from collections.abc import Iterator

from greffe.data.words import excerpt, normalize
from greffe.doctor.checks.check import LabelledData, register
from greffe.doctor.finding import Finding

LONGEST_WORD = 30  # characters: scripts without spaces write whole sentences as one word


@register("empty texts", order=7, kinds=("short_texts",))
def short_texts(data: LabelledData) -> Iterator[Finding]:
    """Find texts with at most one word: a note."""
    for where, examples in data.parts.items():
        plain = [normalize(example.text) for example in examples]
        short = [
            example.text
            for example, text in zip(examples, plain, strict=True)
            if " " not in text and len(text) <= LONGEST_WORD
        ]
        if short:
            yield Finding(
                kind="short_texts",
                severity="note",
                count=len(short),
                total=len(examples),
                where=where,
                example=excerpt(max(short, key=len)),
                detail={"empty": sum(not text for text in plain)},
            )
