"""Sections on what a study rests on: texts, transfer, findings, how to reproduce it."""

from __future__ import annotations

import shlex
from functools import partial

from greffe.report.blocks import (
    Block,
    Code,
    Figure,
    Partial,
    Prose,
    Section,
    figure,
    section,
)
from greffe.report.catalog import Catalog
from greffe.report.charts.bars import BarRow, bar_chart
from greffe.report.charts.interval_chart import IntervalRow, interval_chart
from greffe.report.charts.marked import marked_text
from greffe.report.evidence_tables import (
    data_table,
    described_findings,
    disagreements_table,
    findings_table,
    hashes_table,
    moves_table,
    probe_name,
    probes_table,
    repeat_tables,
    transfer_table,
)
from greffe.report.report_table import scrolling_html
from greffe.report.study_sections import arm_kinds
from greffe.report.verdict import arm_names
from greffe.study.document import StudyDocument


def disagreements_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """Return texts that arms classify differently, with the words that mattered."""
    if not document.disagreements:
        return None
    names = arm_names(catalog, document)
    texts = [
        {
            "text": one.text,
            "label": one.label,
            "predictions": [
                {
                    "arm": names.get(prediction.arm, prediction.arm),
                    "label": prediction.label,
                    "probability": catalog.percent(prediction.probability),
                    "is_right": prediction.label == one.label,
                    "marked": marked_text(prediction.words, catalog) if prediction.words else "",
                }
                for prediction in one.predictions
            ],
        }
        for one in document.disagreements
    ]
    table = disagreements_table(document, catalog)
    block = Partial("disagreements.html.j2", {"texts": texts}, table)
    return section("disagreements", catalog, [block])


def proof_section(document: StudyDocument, catalog: Catalog) -> Section:
    """Return what was loaded, how far it moved, and what the base knew before."""
    proof = document.proof
    blocks: list[Block] = [
        Prose(
            catalog(
                "proof.intro",
                taken=catalog.counted(len(proof.taken), "tensor"),
                new=catalog.counted(len(proof.new), "tensor"),
                left=catalog.counted(len(proof.left), "tensor"),
            )
        ),
        Prose(catalog("proof.base", hash=proof.base_hash)),
        hashes_table(document, catalog),
    ]
    if proof.moves:
        blocks.append(_moves(document, catalog))
    if proof.probes:
        blocks.append(_probes(document, catalog))
    tensors = transfer_table(document, catalog)
    folded = {"table": scrolling_html(tensors), "title": catalog("proof.list")}
    blocks.append(Partial("folded.html.j2", folded, tensors))
    return section("proof", catalog, blocks)


def _moves(document: StudyDocument, catalog: Catalog) -> Figure:
    kinds, names = arm_kinds(document), arm_names(catalog, document)
    bars = [
        BarRow(
            catalog.part(move.part),
            change,
            catalog.percent(change),
            kinds.get(arm, arm),
            names.get(arm, arm),
        )
        for move in document.proof.moves
        for arm, change in move.moved.items()
    ]
    table = moves_table(document, catalog)
    return figure("moves", catalog, table, partial(bar_chart, bars, percent=True))


def _probes(document: StudyDocument, catalog: Catalog) -> Figure:
    kinds = arm_kinds(document)
    rows = [
        IntervalRow(probe_name(one.name, catalog), one.accuracy, kinds.get(one.name, "scratch"))
        for one in document.proof.probes
    ]
    table = probes_table(document, catalog)
    return figure("probes", catalog, table, partial(interval_chart, rows))


def findings_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """Return what the data check found, the serious first."""
    if not document.findings:
        return None
    table = findings_table(document.findings, catalog)
    found = described_findings(document.findings, catalog)
    return section("findings", catalog, [Partial("findings.html.j2", {"findings": found}, table)])


def repeat_section(document: StudyDocument, catalog: Catalog) -> Section:
    """Return command, data, versions, hashes and recipe."""
    repeat = document.repeat
    seeds = ", ".join(f"{seed}" for seed in repeat.seeds)
    blocks: list[Block] = [
        Code(catalog("repeat.command"), shlex.join(repeat.command)),
        Prose(catalog("repeat.seeds", seeds=seeds)),
        data_table(document, catalog),
        *repeat_tables(repeat, catalog),
    ]
    if repeat.recipe:
        blocks.append(Code(catalog("repeat.recipe"), repeat.recipe))
    return section("repeat", catalog, blocks)
