"""Texts that are longer than a model's context."""

from __future__ import annotations

from collections.abc import Iterator

from greffe.data.words import excerpt
from greffe.doctor.checks.check import LabelledData, register
from greffe.doctor.finding import Finding

MUCH_CUT = 0.05  # fraction of tokens beyond the context that is more than a note
SPECIAL_TOKENS = 2  # <sos> and <eos> are part of the context


@register(
    "texts longer than the context",
    order=8,
    kinds=("long_texts",),
    needs=("tokenizer", "context"),
)
def long_texts(data: LabelledData) -> Iterator[Finding]:
    """Find texts beyond the context: a warning if much of the text is cut, else a note."""
    assert data.tokenizer is not None and data.context is not None
    for where, examples in data.parts.items():
        encoded = data.tokenizer.encode_all(example.text for example in examples)
        lengths = [len(ids) for ids in encoded]
        beyond = [max(0, length - (data.context - SPECIAL_TOKENS)) for length in lengths]
        if not any(beyond):
            continue
        cut = sum(beyond) / sum(lengths)
        longest = max(range(len(lengths)), key=lengths.__getitem__)
        yield Finding(
            kind="long_texts",
            severity="warning" if cut > MUCH_CUT else "note",
            count=sum(length > 0 for length in beyond),
            total=len(examples),
            where=where,
            example=excerpt(examples[longest].text),
            detail={"context": data.context, "cut": cut, "longest": lengths[longest]},
        )
