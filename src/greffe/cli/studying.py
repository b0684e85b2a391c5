"""The verb that looks at data before anything is trained: doctor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greffe.cli import options as o

if TYPE_CHECKING:
    from greffe.doctor.finding import Finding

_ALWAYS = (
    "copies within and across parts",
    "contradictory labels",
    "balance and order of labels",
    "rare and missing classes",
    "empty texts",
)


def doctor(
    data: o.Data,
    valid: o.ValidTable = None,
    test: o.TestTable = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus",
            help="Pretraining text or a prepared corpus, searched for the last part. Repeatable.",
        ),
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A run, or greffe-fr: its context and vocabulary, for length and letters.",
        ),
    ] = None,
    documents: o.Documents = o.DocumentUnit.line,
    encoding: o.Encoding = "utf-8",
    text_column: o.TextColumn = None,
    label_column: o.LabelColumn = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 if something serious is found.")
    ] = False,
    as_json: o.Json = False,
) -> None:
    """What is wrong with labelled data: leaks, contradictions, imbalance, overlap and more."""
    from greffe import studies

    findings = studies.doctor(
        data,
        valid=valid,
        test=test,
        corpus=corpus or [],
        run=from_,
        options=o.read_options(
            documents=documents,
            encoding=encoding,
            text_column=text_column,
            label_column=label_column,
        ),
    )
    checked = [
        *_ALWAYS,
        *(["texts beyond the context", "unknown scripts"] if from_ else []),
        *(["overlap with the corpus"] if corpus else []),
    ]
    if as_json:
        print(json.dumps(_as_json(findings, checked), ensure_ascii=False))
    else:
        _print_findings(findings, checked)
    if strict and any(finding.severity == "serious" for finding in findings):
        raise typer.Exit(1)


def _as_json(findings: Sequence[Finding], checked: Sequence[str]) -> dict[str, object]:
    from greffe.doctor.descriptions import describe

    rows = []
    for finding in findings:
        what, advice = describe(finding)
        rows.append({**finding.model_dump(mode="json"), "what": what, "advice": advice})
    return {"checked": list(checked), "findings": rows}


def _print_findings(findings: Sequence[Finding], checked: Sequence[str]) -> None:
    from greffe.doctor.descriptions import describe

    severity = None
    for finding in findings:
        if finding.severity != severity:
            severity = finding.severity
            print(f"{severity.upper()}")
        what, advice = describe(finding)
        print(f"  {what}")
        if finding.example:
            print(f"    example: {finding.example}")
        print(f"    next:    {advice}")
    print(f"{'' if findings else 'Nothing found. '}Checked: {', '.join(checked)}.")
