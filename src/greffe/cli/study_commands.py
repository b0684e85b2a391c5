"""Verbs about labelled data and studies: compare, report, doctor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greffe.cli import flags
from greffe.cli.json_output import print_json
from greffe.config.option_groups import Without
from greffe.config.options import Comparison, Output, Reading, Tables, Training
from greffe.display import terminal_text

if TYPE_CHECKING:
    from greffe.api import Study
    from greffe.doctor.finding import Finding


@flags.expand_groups
def compare(
    base: Annotated[
        Path, typer.Argument(help="The base that is evaluated: a run, greffe-fr or hf:owner/name.")
    ],
    tables: Tables,
    output: Annotated[Output, Without("resume")],
    comparison: Comparison,
    training: Annotated[Training, Without("objective", "seed", "soup", "show_tensors", "track")],
    reading: Reading,
    corpus: flags.Corpus = None,
    language: flags.ReportLanguage = "en",
    as_json: flags.Json = False,
) -> None:
    """Compare a pretrained base with scratch and with baselines.

    All arms use the same seeds; the result is a report with statistics. The same command resumes
    an interrupted study.
    """
    from greffe import api

    study = api.compare(
        base,
        tables=tables,
        output=output,
        comparison=comparison,
        training=training,
        corpus=corpus or [],
        reading=reading,
        language=language,
    )
    _print_study(study, language, as_json)


def report(
    paths: Annotated[list[Path], typer.Argument(help="A study, or one or more runs.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder to write to; default: the folder of the study or run."),
    ] = None,
    language: flags.ReportLanguage = "en",
) -> None:
    """Rebuild the report of a study, or of runs side by side."""
    from greffe import api

    print(api.report(paths, out, language=language))


@flags.expand_groups
def doctor(
    tables: Annotated[Tables, Without("aux_data")],
    reading: Reading,
    corpus: flags.Corpus = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="A base: check lengths and scripts for it too."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if something serious is found.")
    ] = False,
    as_json: flags.Json = False,
) -> None:
    """Check labelled data for leaks, contradictions and imbalance."""
    from greffe import api
    from greffe.doctor.examine import check_titles

    findings = api.doctor(tables=tables, corpus=corpus or [], run=from_, reading=reading)
    checked = check_titles(with_model=from_ is not None, with_corpus=bool(corpus))
    if as_json:
        print_json(_as_json(findings, checked))
    else:
        _print_findings(findings, checked)
    if strict and any(finding.severity == "serious" for finding in findings):
        raise typer.Exit(1)


def _print_study(study: Study, language: flags.Language, as_json: bool) -> None:
    from greffe.cli.study_summary import study_tables
    from greffe.cli.terminal_tables import print_tables

    if as_json:
        print_json(study.results.model_dump(mode="json"))
        return
    print_tables(study_tables(study.results))
    found = study.verdict_in(language)
    print(terminal_text("\n".join([found.headline, *found.sentences])))
    print(f"\nReport: {study.report}")


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
        print(f"  {terminal_text(what)}")
        if finding.example:
            print(f"    example: {terminal_text(finding.example)}")
        print(f"    next:    {terminal_text(advice)}")
    print(f"{'' if findings else 'No problems found. '}Checked: {', '.join(checked)}.")
