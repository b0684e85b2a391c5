"""Sections of questions 2 and 3: two heads on one base, and every parameter counted."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.data.pieces import SPECIALS
from greffe.lab.document import Counting, Heads, Mistake, MistakeKind, NextWords, Totals
from greffe.report.blocks import Block, Prose, Section, section
from greffe.report.cells import count_cell, percent_cell
from greffe.report.evidence_tables import parameters_table
from greffe.report.numbers import NO_BREAK
from greffe.report.tables import Cell, Table, cell, number_column, text_column
from greffe.report.words import Words

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


def heads_section(heads: Heads, words: Words) -> Section:
    """Why the head is replaced; both tasks in one table; both answers to one sentence."""
    shapes, untaught = heads.shapes, heads.untaught
    blocks: list[Block] = [
        Prose(
            words("lab.heads.why", parameters=words.number(shapes.classification_parameters)),
        ),
        _shapes_table(heads, words),
        Prose(
            words(
                "lab.heads.same",
                next_token=words.decimal(untaught.next_token, 2),
                vocab=words.number(shapes.vocab),
                next_token_guess=words.decimal(untaught.next_token_guess, 2),
                classification=words.decimal(untaught.classification, 2),
                classes=words.number(shapes.classes),
                classification_guess=words.decimal(untaught.classification_guess, 2),
            )
        ),
        Prose(words("lab.heads.answers_lead", sentence=heads.answers.sentence)),
        _next_table(heads, words),
        _class_table(heads, words),
    ]
    return section("heads", words, blocks)


def _shapes_table(heads: Heads, words: Words) -> Table:
    found = heads.shapes

    def line(key: str, language: str, classes: str) -> list[Cell]:
        return [cell(words(f"lab.heads.{key}"), key), cell(language), cell(classes)]

    def said(key: str, **places: str) -> list[Cell]:
        return line(
            key,
            words(f"lab.heads.{key}_language", **places),
            words(f"lab.heads.{key}_classes", **places),
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
            words("lab.heads.targets_language", shape=_shape(found.next_token_targets)),
            words("lab.heads.targets_classes", shape=_shape(found.classification_targets)),
        ),
        said("loss", vocab=words.number(found.vocab), classes=words.number(found.classes)),
        line(
            "parameters",
            words.number(found.next_token_parameters),
            words.number(found.classification_parameters),
        ),
    ]
    columns = [
        text_column(words("lab.heads.column_what"), "what"),
        text_column(words("lab.heads.column_language"), "language_model"),
        text_column(words("lab.heads.column_classes"), "classifier"),
    ]
    title = words("lab.heads.table", recipe=found.recipe, sentence=heads.answers.sentence)
    return Table("heads", title, columns, rows)


def _next_table(heads: Heads, words: Words) -> Table:
    rows = [
        [cell(_piece(one, words), one.piece), cell(_expected(one, words))]
        for one in heads.answers.next_words
    ]
    columns = [
        text_column(words("lab.heads.column_after"), "after"),
        text_column(words("lab.heads.column_expected"), "expected"),
    ]
    return Table("next_words", words("lab.heads.next_table"), columns, rows)


def _class_table(heads: Heads, words: Words) -> Table:
    rows = [[cell(label), percent_cell(words, share)] for label, share in heads.answers.classes]
    columns = [
        text_column(words("lab.heads.column_class"), "class"),
        number_column(words("lab.heads.column_share"), "probability"),
    ]
    return Table("classes", words("lab.heads.class_table"), columns, rows)


def _piece(one: NextWords, words: Words) -> str:
    return words("lab.heads.sos") if one.piece == START else one.piece


def _expected(one: NextWords, words: Words) -> str:
    return ", ".join(f"{piece} ({words.percent(share, 0)})" for piece, share in one.expected)


def _shape(sizes: Sequence[int]) -> str:
    return f"[{f',{NO_BREAK}'.join(str(size) for size in sizes)}]"


# --- question 3 ---------------------------------------------------------------------------------


def counting_section(counting: Counting, words: Words) -> Section:
    """The account of the lab's model, and the totals of those who miscounted."""
    truth = counting.truth
    embedding = counting.vocab * counting.width / truth.base
    agrees = all(row.closed == row.counted for row in counting.rows)
    blocks: list[Block] = [
        Prose(
            words(
                "lab.counting.truth",
                base=words.number(truth.base),
                classifier=words.number(truth.classifier),
                language_model=words.number(truth.language_model),
                share=words.percent(embedding, 0),
            )
        ),
        parameters_table(counting.rows, counting.recipe, words),
        *([Prose(words("lab.counting.same"))] if agrees else []),
        Prose(words("lab.counting.mistakes_lead")),
        *(
            _mistakes_table(
                name, [one for one in counting.mistakes if one.kind in kinds], counting, words
            )
            for name, kinds in MISTAKES.items()
        ),
    ]
    return section("counting", words, blocks)


def _mistakes_table(
    name: str, mistakes: Sequence[Mistake], counting: Counting, words: Words
) -> Table:
    """Totals first: whoever has one looks it up. The right ones stand on top."""
    right = [*_totals_cells(counting.truth, words), cell(words("lab.counting.right"), "none")]
    wrong = [
        [
            *_totals_cells(mistake.totals, words),
            cell(_mistake_name(mistake, counting, words), mistake.kind),
            cell(_spoken(mistake.formula, words), mistake.formula),
        ]
        for mistake in mistakes
    ]
    columns = [
        number_column(words("lab.counting.column_base"), "base"),
        number_column(words("lab.counting.column_classifier"), "classifier"),
        number_column(words("lab.counting.column_language"), "language_model"),
        text_column(words("lab.counting.column_mistake"), "mistake"),
        number_column(words("lab.counting.column_formula"), "formula"),
    ]
    rows = [[*right, cell("", None)], *wrong]
    return Table(f"mistakes_{name}", words(f"lab.counting.{name}"), columns, rows, frozenset({0}))


def _totals_cells(totals: Totals, words: Words) -> list[Cell]:
    return [
        count_cell(words, total)
        for total in (totals.base, totals.classifier, totals.language_model)
    ]


def _mistake_name(mistake: Mistake, counting: Counting, words: Words) -> str:
    return words(
        f"lab.mistake.{mistake.kind}",
        width=words.number(counting.width),
        wide=words.number(4 * counting.width),
        inner=words.number(counting.feed_forward),
        layers=words.number(counting.layers),
        heads=words.number(counting.heads),
        vocab=words.number(counting.vocab),
        rounded=words.number(counting.vocab // 1000 * 1000),
    )


def _spoken(formula: str, words: Words) -> str:
    """A formula with thousands as the language writes them."""
    thousands = words.number(1000)[1]
    return formula.replace(",", thousands) if not thousands.isdigit() else formula
