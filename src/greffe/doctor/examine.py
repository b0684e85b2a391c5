"""Examine labelled data for everything that would make the figures of a study wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from greffe.config.options import Reading
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.doctor.checks import CHECKS, LabelledData
from greffe.doctor.checks.check import Need
from greffe.doctor.finding import Finding, PartName, Severity


def examine(
    parts: Mapping[PartName, Sequence[Example]],
    *,
    tokenizer: Tokenizer | None = None,
    context: int | None = None,
    corpus: Sequence[str | Path] = (),
    options: Reading | None = None,
) -> list[Finding]:
    """Return what is wrong with the data, the serious first; an empty list if nothing is.

    Length and scripts need a tokenizer. The corpus, which `options` say how to read, is searched
    for the test part, or for the last one that there is.
    """
    given = {name: parts[name] for name in get_args(PartName) if parts.get(name)}
    if not given:
        return []
    data = LabelledData(
        parts=given,
        tokenizer=tokenizer,
        context=context,
        corpus=corpus,
        reading=options or Reading(),
    )
    findings = [
        finding for check in CHECKS.values() if check.applies(data) for finding in check.find(data)
    ]
    return sorted(findings, key=lambda finding: get_args(Severity).index(finding.severity))


def check_titles(*, with_model: bool, with_corpus: bool) -> list[str]:
    """Return the titles of the checks that are made with or without a model and a corpus."""
    given: set[Need] = set()
    if with_model:
        given |= {"tokenizer", "context"}
    if with_corpus:
        given.add("corpus")
    return [check.title for check in CHECKS.values() if given.issuperset(check.needs)]
