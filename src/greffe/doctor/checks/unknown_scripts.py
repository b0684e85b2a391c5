"""Texts in scripts that the vocabulary does not cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from greffe.data.scripts import known_characters, unknown_letters
from greffe.data.words import excerpt
from greffe.doctor.checks.check import LabelledData, register
from greffe.doctor.finding import Finding

UNKNOWN_LETTERS = 0.2  # fraction of unknown letters that makes a text one in an unknown script
MANY_UNKNOWN = 0.01  # fraction of such texts that is more than a note


@register("unknown scripts", order=9, kinds=("unknown_script",), needs=("tokenizer",))
def unknown_scripts(data: LabelledData) -> Iterator[Finding]:
    """Find texts with many unknown letters: a warning if they are many, else a note."""
    assert data.tokenizer is not None
    known = known_characters(data.tokenizer)
    for where, examples in data.parts.items():
        scripts: Counter[str] = Counter()
        unreadable: list[str] = []
        for example in examples:
            text = data.tokenizer.fold(example.text)
            letters, unknown = unknown_letters(text, known)
            if unknown.total() > UNKNOWN_LETTERS * letters:
                scripts += unknown
                unreadable.append(example.text)
        if unreadable:
            yield Finding(
                kind="unknown_script",
                severity="warning" if len(unreadable) > MANY_UNKNOWN * len(examples) else "note",
                count=len(unreadable),
                total=len(examples),
                where=where,
                example=excerpt(unreadable[0]),
                detail={"scripts": ", ".join(script for script, _ in scripts.most_common(3))},
            )
