"""Sections of questions 2 and 3: two heads on one base, and every parameter counted."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.data.pieces import SPECIALS
from greffe.lab.lab_document import Counting, Heads, Mistake, MistakeKind, NextWords, Totals
from greffe.report.blocks import Block, Prose, Section, section
from greffe.report.catalog import Catalog
from greffe.report.evidence_tables import parameters_table
from greffe.report.number_format import NO_BREAK
from greffe.report.report_table import Cell, Table, cell, number_column, text_column
from greffe.report.table_cells import count_cell, percent_cell

START = SPECIALS[0]
MISTAKES: dict[str, tuple[MistakeKind, ...]] = {
    "in_blocks": (
        "no_biases",
        "no_attention_output",
        "no_norms",
        "norms_without_shift",
        "wide_feed_forward",
        "default_feed_forward",
        "one_layer",
        "projections_a_head",
    ),
    "around_blocks": (
        "learned_positions",
        "round_vocabulary",
        "toy_vocabulary",
        "embedding_twice",
        "tied_head",
        "head_without_bias",
    ),
}
"""Which stand in which table."""


# --- question 2 ---------------------------------------------------------------------------------


def heads_section(heads: Heads, catalog: Catalog) -> Section:
    """Why the head is replaced; both tasks in one table; both answers to one sentence."""
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

    def line(key: str, language: str, classes: str) -> list[Cell]:
        return [cell(catalog(f"lab.heads.{key}"), key), cell(language), cell(classes)]

    def said(key: str, **places: str) -> list[Cell]:
        return line(
            key,
            catalog(f"lab.heads.{key}_language", **places),
            catalog(f"lab.heads.{key}_classes", **places),
        )

    rows = [
        said("question"),
        said("data"),
        line("ids", _shape(found.ids), _shape(found.ids)),
        line("hidden", _shape(found.hidden), _shape(found.hidden)),
        said("reads"),
        line("weight", _shape(found.next_token_weight), _shape(found.classification_weight)),
        line("scores", _shape(found.next_token_scores), _shape(found.classification_scores)),
        line(
            "targets",
            catalog("lab.heads.targets_language", shape=_shape(found.next_token_targets)),
            catalog("lab.heads.targets_classes", shape=_shape(found.classification_targets)),
        ),
        said("loss", vocab=catalog.number(found.vocab), classes=catalog.number(found.classes)),
        line(
            "parameters",
            catalog.number(found.next_token_parameters),
            catalog.number(found.classification_parameters),
        ),
    ]
    columns = [
        text_column(catalog("lab.heads.column_what"), "what"),
        text_column(catalog("lab.heads.column_language"), "language_model"),
        text_column(catalog("lab.heads.column_classes"), "classifier"),
    ]
    title = catalog("lab.heads.table", recipe=found.recipe, sentence=heads.answers.sentence)
    return Table("heads", title, columns, rows)


def _next_table(heads: Heads, catalog: Catalog) -> Table:
    rows = [
        [cell(_piece(one, catalog), one.piece), cell(_expected(one, catalog))]
        for one in heads.answers.next_words
    ]
    columns = [
        text_column(catalog("lab.heads.column_after"), "after"),
        text_column(catalog("lab.heads.column_expected"), "expected"),
    ]
    return Table("next_words", catalog("lab.heads.next_table"), columns, rows)


def _class_table(heads: Heads, catalog: Catalog) -> Table:
    rows = [[cell(label), percent_cell(catalog, share)] for label, share in heads.answers.classes]
    columns = [
        text_column(catalog("lab.heads.column_class"), "class"),
        number_column(catalog("lab.heads.column_share"), "probability"),
    ]
    return Table("classes", catalog("lab.heads.class_table"), columns, rows)


def _piece(one: NextWords, catalog: Catalog) -> str:
    return catalog("lab.heads.sos") if one.piece == START else one.piece


def _expected(one: NextWords, catalog: Catalog) -> str:
    return ", ".join(f"{piece} ({catalog.percent(share, 0)})" for piece, share in one.expected)


def _shape(sizes: Sequence[int]) -> str:
    return f"[{f',{NO_BREAK}'.join(str(size) for size in sizes)}]"


# --- question 3 ---------------------------------------------------------------------------------


def counting_section(counting: Counting, catalog: Catalog) -> Section:
    """The account of the lab's model, and the totals of those who miscounted."""
    targets = counting.targets
    embedding = counting.vocab * counting.width / targets.base
    agrees = all(row.closed == row.counted for row in counting.rows)
    blocks: list[Block] = [
        Prose(
            catalog(
                "lab.counting.truth",
                base=catalog.number(targets.base),
                classifier=catalog.number(targets.classifier),
                language_model=catalog.number(targets.language_model),
                share=catalog.percent(embedding, 0),
            )
        ),
        parameters_table(counting.rows, counting.recipe, catalog),
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
    """Totals first: whoever has one looks it up. The right ones stand on top."""
    right = [*_totals_cells(counting.targets, catalog), cell(catalog("lab.counting.right"), "none")]
    wrong = [
        [
            *_totals_cells(mistake.totals, catalog),
            cell(_mistake_name(mistake, counting, catalog), mistake.kind),
            cell(_spoken(mistake.formula, catalog), mistake.formula),
        ]
        for mistake in mistakes
    ]
    columns = [
        number_column(catalog("lab.counting.column_base"), "base"),
        number_column(catalog("lab.counting.column_classifier"), "classifier"),
        number_column(catalog("lab.counting.column_language"), "language_model"),
        text_column(catalog("lab.counting.column_mistake"), "mistake"),
        number_column(catalog("lab.counting.column_formula"), "formula"),
    ]
    rows = [[*right, cell("", None)], *wrong]
    return Table(f"mistakes_{name}", catalog(f"lab.counting.{name}"), columns, rows, frozenset({0}))


def _totals_cells(totals: Totals, catalog: Catalog) -> list[Cell]:
    return [
        count_cell(catalog, total)
        for total in (totals.base, totals.classifier, totals.language_model)
    ]


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


def _spoken(formula: str, catalog: Catalog) -> str:
    """A formula with thousands as the language writes them."""
    thousands = catalog.number(1000)[1]
    return formula.replace(",", thousands) if not thousands.isdigit() else formula
