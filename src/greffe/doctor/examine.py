"""The doctor: everything about labelled data that would make a study's figures lie.

Knows labelled texts, a tokenizer and a corpus; no model. The words for what it finds are in
doctor_words.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from greffe.config.options import Reading
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.doctor.finding import Finding, PartName
from greffe.doctor.label_checks import (
    check_balance,
    check_classes,
    check_few,
    check_order,
)
from greffe.doctor.text_checks import (
    check_copies,
    check_length,
    check_letters,
    check_overlap,
    check_short,
)

SEVERITIES = ("serious", "warning", "note")
_ORDER: tuple[PartName, ...] = ("train", "valid", "test")


def examine(
    parts: Mapping[PartName, Sequence[Example]],
    *,
    tokenizer: Tokenizer | None = None,
    context: int | None = None,
    corpus: Sequence[str | Path] = (),
    options: Reading | None = None,
) -> list[Finding]:
    """What is wrong with the data, the serious first; an empty list if nothing is.

    Length and letters need a tokenizer. The corpus, which `options` say how to read, is searched
    for the test part, or for the last one that there is.
    """
    given = {name: parts[name] for name in _ORDER if parts.get(name)}
    if not given:
        return []
    findings = [*check_copies(given), *check_balance(given), *check_classes(given)]
    first, last = next(iter(given)), next(reversed(given))
    findings += [*check_few(given[first], first), *check_order(given[first], first)]
    for name, examples in given.items():
        findings += check_short(examples, name)
        if tokenizer is not None and context is not None:
            findings += check_length(examples, name, tokenizer, context)
        if tokenizer is not None:
            findings += check_letters(examples, name, tokenizer)
    if corpus:
        findings += check_overlap(given[last], last, corpus, options or Reading())
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
