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
    chart_words,
    section,
)
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
from greffe.report.study_sections import arm_kinds
from greffe.report.tables import scrolling_html
from greffe.report.verdict import arm_name
from greffe.report.words import Words
from greffe.study.document import StudyDocument


def disagreements_section(document: StudyDocument, words: Words) -> Section | None:
    """Texts that arms read differently, with the words that mattered."""
    if not document.disagreements:
        return None
    names = {arm.name: arm_name(words, arm) for arm in document.arms}
    texts = [
        {
            "text": one.text,
            "truth": one.truth,
            "readings": [
                {
                    "arm": names.get(reading.arm, reading.arm),
                    "label": reading.label,
                    "probability": words.percent(reading.probability),
                    "is_right": reading.label == one.truth,
                    "marked": marked_text(reading.words, words=chart_words(words))
                    if reading.words
                    else "",
                }
                for reading in one.readings
            ],
        }
        for one in document.disagreements
    ]
    table = disagreements_table(document, words)
    partial = Partial("disagreements.html.j2", {"texts": texts}, table)
    return section("disagreements", words, [partial])


def proof_section(document: StudyDocument, words: Words) -> Section:
    """What was loaded, how far it moved, what it knew before."""
    proof = document.proof
    blocks: list[Block] = [
        Prose(
            words(
                "proof.intro",
                taken=words.counted(len(proof.taken), "tensor"),
                new=words.counted(len(proof.new), "tensor"),
                left=words.counted(len(proof.left), "tensor"),
            )
        ),
        Prose(words("proof.base", hash=proof.base_hash)),
        hashes_table(document, words),
    ]
    if proof.moves:
        blocks.append(_moves(document, words))
    if proof.probes:
        blocks.append(_probes(document, words))
    tensors = transfer_table(document, words)
    folded = {"table": scrolling_html(tensors), "title": words("proof.list")}
    blocks.append(Partial("folded.html.j2", folded, tensors))
    return section("proof", words, blocks)


def _moves(document: StudyDocument, words: Words) -> Figure:
    kinds = arm_kinds(document)
    names = {arm.name: arm_name(words, arm) for arm in document.arms}
    title, caption = words("figure.moves.title"), words("figure.moves.caption")
    svg = bar_chart(
        [
            BarRow(
                words.model_part(move.part),
                share,
                kinds.get(arm, arm),
                names.get(arm, arm),
                words.percent(share),
            )
            for move in document.proof.moves
            for arm, share in move.moved.items()
        ],
        ident="moves-chart",
        title=title,
        description=caption,
        x_label=words("figure.moves.x"),
        percent=True,
        words=chart_words(words),
    )
    return Figure("moves-chart", title, caption, svg, moves_table(document, words))


def _probes(document: StudyDocument, words: Words) -> Figure:
    kinds = arm_kinds(document)
    title, caption = words("figure.probes.title"), words("figure.probes.caption")
    svg = interval_chart(
        [
            IntervalRow(
                words.model_part(probe.name),
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
        x_label=words("figure.probes.x"),
        words=chart_words(words),
    )
    return Figure("probes-chart", title, caption, svg, probes_table(document, words))


def findings_section(document: StudyDocument, words: Words) -> Section | None:
    """What the data check found, the serious first."""
    if not document.findings:
        return None
    table = findings_table(document.findings, words)
    found = spoken_findings(document.findings, words)
    return section("findings", words, [Partial("findings.html.j2", {"findings": found}, table)])


def repeat_section(document: StudyDocument, words: Words) -> Section:
    """Command, data, versions, hashes, recipe."""
    repeat = document.repeat
    seeds = ", ".join(f"{seed}" for seed in repeat.seeds)
    blocks: list[Block] = [
        Code(words("repeat.command"), shlex.join(repeat.command)),
        Prose(words("repeat.seeds", seeds=seeds)),
        data_table(document, words),
        *repeat_tables(repeat, words),
    ]
    if repeat.recipe:
        blocks.append(Code(words("repeat.recipe"), repeat.recipe))
    return section("repeat", words, blocks)
