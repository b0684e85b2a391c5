"""Sections about what stands behind a study: texts, transfer, findings, how to do it again."""

from __future__ import annotations

import shlex

from greffe.report.blocks import (
    Block,
    Code,
    Figure,
    Partial,
    Prose,
    Section,
    chart_texts,
    section,
)
from greffe.report.catalog import Catalog
from greffe.report.charts import (
    BarRow,
    IntervalRow,
    bar_chart,
    interval_chart,
    marked_text,
)
from greffe.report.evidence_tables import (
    data_table,
    disagreements_table,
    hashes_table,
    moves_table,
    probes_table,
    repeat_tables,
    transfer_table,
)
from greffe.report.findings import findings_table, spoken_findings
from greffe.report.report_table import scrolling_html
from greffe.report.study_sections import arm_kinds
from greffe.report.verdict import arm_name
from greffe.study.document import StudyDocument


def disagreements_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """Texts that arms read differently, with the words that mattered."""
    if not document.disagreements:
        return None
    names = {arm.name: arm_name(catalog, arm) for arm in document.arms}
    texts = [
        {
            "text": one.text,
            "targets": one.targets,
            "readings": [
                {
                    "arm": names.get(reading.arm, reading.arm),
                    "label": reading.label,
                    "probability": catalog.percent(reading.probability),
                    "is_right": reading.label == one.targets,
                    "marked": marked_text(reading.words, catalog=chart_texts(catalog))
                    if reading.words
                    else "",
                }
                for reading in one.readings
            ],
        }
        for one in document.disagreements
    ]
    table = disagreements_table(document, catalog)
    partial = Partial("disagreements.html.j2", {"texts": texts}, table)
    return section("disagreements", catalog, [partial])


def proof_section(document: StudyDocument, catalog: Catalog) -> Section:
    """What was loaded, how far it moved, what it knew before."""
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
    kinds = arm_kinds(document)
    names = {arm.name: arm_name(catalog, arm) for arm in document.arms}
    title, caption = catalog("figure.moves.title"), catalog("figure.moves.caption")
    svg = bar_chart(
        [
            BarRow(
                catalog.model_part(move.part),
                share,
                kinds.get(arm, arm),
                names.get(arm, arm),
                catalog.percent(share),
            )
            for move in document.proof.moves
            for arm, share in move.moved.items()
        ],
        ident="moves-chart",
        title=title,
        description=caption,
        x_label=catalog("figure.moves.x"),
        percent=True,
        catalog=chart_texts(catalog),
    )
    return Figure("moves-chart", title, caption, svg, moves_table(document, catalog))


def _probes(document: StudyDocument, catalog: Catalog) -> Figure:
    kinds = arm_kinds(document)
    title, caption = catalog("figure.probes.title"), catalog("figure.probes.caption")
    svg = interval_chart(
        [
            IntervalRow(
                catalog.model_part(probe.name),
                probe.accuracy.mean,
                probe.accuracy.low,
                probe.accuracy.high,
                probe.accuracy.values,
                kinds.get(probe.name, "scratch"),
            )
            for probe in document.proof.probes
        ],
        ident="probes-chart",
        title=title,
        description=caption,
        x_label=catalog("figure.probes.x"),
        catalog=chart_texts(catalog),
    )
    return Figure("probes-chart", title, caption, svg, probes_table(document, catalog))


def findings_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """What the data check found, the serious first."""
    if not document.findings:
        return None
    table = findings_table(document.findings, catalog)
    found = spoken_findings(document.findings, catalog)
    return section("findings", catalog, [Partial("findings.html.j2", {"findings": found}, table)])


def repeat_section(document: StudyDocument, catalog: Catalog) -> Section:
    """Command, data, versions, hashes, recipe."""
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
