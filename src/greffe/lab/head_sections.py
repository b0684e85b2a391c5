"""Sections of questions 2 and 3: two heads on one base, and the number of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from greffe.data.pieces import SPECIALS
from greffe.lab.lab_document import (
    BlockMistake,
    Counting,
    Heads,
    Mistake,
    OtherMistake,
    Totals,
)
from greffe.report.blocks import Block, Prose, Section, section
from greffe.report.catalog import Catalog
from greffe.report.evidence_tables import parameters_table
from greffe.report.number_format import NO_BREAK
from greffe.report.report_table import Cell, Table, TableBuilder, cell

START = SPECIALS[0]
MISTAKES = {"in_blocks": get_args(BlockMistake), "around_blocks": get_args(OtherMistake)}
"""Which mistakes are in which table."""


# --- question 2 ---------------------------------------------------------------------------------


def heads_section(heads: Heads, catalog: Catalog) -> Section:
    """Return why the head is replaced, both tasks in one table, both answers to one sentence."""
    shapes, untrained = heads.shapes, heads.untrained
    blocks: list[Block] = [
        Prose(
            catalog("lab.heads.why", parameters=catalog.number(shapes.classification_parameters)),
        ),
        _shapes_table(heads, catalog),
        Prose(
            catalog(
                "lab.heads.same",
                next_token=catalog.decimal(untrained.next_token, 2),
                vocab=catalog.number(shapes.vocab),
                next_token_guess=catalog.decimal(untrained.next_token_guess, 2),
                classification=catalog.decimal(untrained.classification, 2),
                classes=catalog.number(shapes.classes),
                classification_guess=catalog.decimal(untrained.classification_guess, 2),
            )
        ),
        Prose(catalog("lab.heads.answers_lead", sentence=heads.answers.sentence)),
        _next_table(heads, catalog),
        _class_table(heads, catalog),
    ]
    return section("heads", catalog, blocks)


def _shapes_table(heads: Heads, catalog: Catalog) -> Table:
    found = heads.shapes

    def texts(key: str, **values: str) -> tuple[str, str, str]:
        return (
            key,
            catalog(f"lab.heads.{key}_language", **values),
            catalog(f"lab.heads.{key}_classes", **values),
        )

    rows: list[tuple[str, str, str]] = [
        texts("question"),
        texts("data"),
        ("ids", _shape(found.ids), _shape(found.ids)),
        ("hidden", _shape(found.hidden), _shape(found.hidden)),
        texts("reads"),
        ("weight", _shape(found.next_token_weight), _shape(found.classification_weight)),
        ("scores", _shape(found.next_token_scores), _shape(found.classification_scores)),
        (
            "targets",
            catalog("lab.heads.targets_language", shape=_shape(found.next_token_targets)),
            catalog("lab.heads.targets_classes", shape=_shape(found.classification_targets)),
        ),
        texts("loss", vocab=catalog.number(found.vocab), classes=catalog.number(found.classes)),
        (
            "parameters",
            catalog.number(found.next_token_parameters),
            catalog.number(found.classification_parameters),
        ),
    ]
    table = TableBuilder(rows, catalog)
    table.text("aspect", lambda row: catalog(f"lab.heads.{row[0]}"), lambda row: row[0])
    table.text("lab.heads.language_model", lambda row: row[1], key="language_model")
    table.text("lab.heads.classifier", lambda row: row[2], key="classifier")
    title = catalog("lab.heads.table", recipe=found.recipe, sentence=heads.answers.sentence)
    return table.build("heads", title)


def _next_table(heads: Heads, catalog: Catalog) -> Table:
    table = TableBuilder(heads.answers.next_words, catalog)
    start = catalog("lab.heads.sos")
    table.text(
        "after", lambda one: start if one.piece == START else one.piece, lambda one: one.piece
    )
    table.text(
        "expected",
        lambda one: ", ".join(f"{piece} ({catalog.percent(p, 0)})" for piece, p in one.expected),
    )
    return table.build("next_words")


def _class_table(heads: Heads, catalog: Catalog) -> Table:
    table = TableBuilder(heads.answers.classes, catalog)
    table.text("class", lambda one: one[0])
    table.percent("probability", lambda one: one[1])
    return table.build("classes")


def _shape(sizes: Sequence[int]) -> str:
    return f"[{f',{NO_BREAK}'.join(str(size) for size in sizes)}]"


# --- question 3 ---------------------------------------------------------------------------------


def counting_section(counting: Counting, catalog: Catalog) -> Section:
    """Return the parameters of the lab's model, and the totals that common mistakes give."""
    targets = counting.targets
    embedding = counting.vocab * counting.width / targets.base
    agrees = all(row.closed == row.counted for row in counting.rows)
    blocks: list[Block] = [
        Prose(
            catalog(
                "lab.counting.totals",
                base=catalog.number(targets.base),
                classifier=catalog.number(targets.classifier),
                language_model=catalog.number(targets.language_model),
                fraction=catalog.percent(embedding, 0),
            )
        ),
        parameters_table(
            {counting.recipe: counting.rows},
            catalog("table.parameters_of", name=counting.recipe),
            catalog,
            with_run=False,
        ),
        *([Prose(catalog("lab.counting.same"))] if agrees else []),
        Prose(catalog("lab.counting.mistakes_lead")),
        *(
            _mistakes_table(
                name, [one for one in counting.mistakes if one.kind in kinds], counting, catalog
            )
            for name, kinds in MISTAKES.items()
        ),
    ]
    return section("counting", catalog, blocks)


def _mistakes_table(
    name: str, mistakes: Sequence[Mistake], counting: Counting, catalog: Catalog
) -> Table:
    """Return the totals that mistakes give; the right ones are on top."""
    lines: list[tuple[Totals, Mistake | None]] = [
        (counting.targets, None),
        *((mistake.totals, mistake) for mistake in mistakes),
    ]

    def mistake_cell(mistake: Mistake | None) -> Cell:
        if mistake is None:
            return cell(catalog("lab.counting.right"), "none")
        return cell(_mistake_name(mistake, counting, catalog), mistake.kind)

    table = TableBuilder(lines, catalog)
    table.count("lab.counting.base", lambda line: line[0].base, "base")
    table.count("lab.counting.classifier", lambda line: line[0].classifier, "classifier")
    table.count(
        "lab.counting.language_model", lambda line: line[0].language_model, "language_model"
    )
    table.add("mistake", lambda line: mistake_cell(line[1]), is_number=False)
    table.add(
        "change",
        lambda line: (
            cell(catalog.formula(line[1].formula), line[1].formula) if line[1] else cell("", None)
        ),
        "formula",
    )
    return table.build(f"mistakes_{name}", catalog(f"lab.counting.{name}"), [0])


def _mistake_name(mistake: Mistake, counting: Counting, catalog: Catalog) -> str:
    return catalog(
        f"lab.mistake.{mistake.kind}",
        width=catalog.number(counting.width),
        wide=catalog.number(4 * counting.width),
        inner=catalog.number(counting.feed_forward),
        layers=catalog.number(counting.layers),
        heads=catalog.number(counting.heads),
        vocab=catalog.number(counting.vocab),
        rounded=catalog.number(counting.vocab // 1000 * 1000),
    )
