"""Tables of a study's figures at all labels: arms, comparisons, confusion, calibration, cost.

Knows the study document and words, nothing of pages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from greffe.evaluation.intervals import Estimate
from greffe.report.cells import (
    answer_cell,
    count_cell,
    decimal_cell,
    interval_cell,
    percent_cell,
    points_cell,
    probability_cell,
)
from greffe.report.tables import Cell, Column, Table, cell, number_column, text_column
from greffe.report.verdict import arm_name
from greffe.report.words import Words
from greffe.study.document import Arm, StudyDocument


def arms_table(document: StudyDocument, words: Words) -> Table:
    """Every arm with its scores; a column for all test texts if some were left out."""
    has_repeated = any(arm.accuracy_everywhere for arm in document.arms)
    rows = [
        [
            cell(arm_name(words, arm), arm.name, arm.kind),
            percent_cell(words, arm.accuracy.mean),
            interval_cell(words, arm.accuracy),
            _bootstrap(words, arm.accuracy, words.interval_percent),
            *([_everywhere(words, arm)] if has_repeated else []),
            points_cell(words, arm.accuracy.deviation),
            percent_cell(words, arm.macro_f1.mean),
            decimal_cell(words, arm.log_loss.mean, 3),
            percent_cell(words, arm.calibration_error.mean),
            count_cell(words, len(arm.seeds)),
        ]
        for arm in document.arms
    ]
    everywhere = number_column(
        words("column.everywhere"), "accuracy_everywhere", "everywhere_low", "everywhere_high"
    )
    columns = [
        Column(words("column.arm"), ("arm", "kind"), is_number=False),
        number_column(words("column.accuracy"), "accuracy"),
        number_column(words("column.interval"), "accuracy_low", "accuracy_high"),
        number_column(words("column.bootstrap"), "bootstrap_low", "bootstrap_high"),
        *([everywhere] if has_repeated else []),
        number_column(words("column.deviation"), "accuracy_deviation"),
        number_column(words("column.macro_f1"), "macro_f1"),
        number_column(words("column.log_loss"), "log_loss"),
        number_column(words("column.calibration_error"), "calibration_error"),
        number_column(words("column.seeds"), "seeds"),
    ]
    return Table("arms", words("table.arms"), columns, rows)


def _bootstrap(words: Words, found: Estimate, write: Callable[[float, float], str]) -> Cell:
    if found.bootstrap is None:
        return cell(words("number.none"), None, None)
    low, high = found.bootstrap
    return cell(write(low, high), low, high)


def ways_table(document: StudyDocument, words: Words) -> Table:
    """What each arm is, the run it starts from and, where an arm has some, its teachers."""
    has_teachers = any(arm.teachers for arm in document.arms)
    return Table(
        "ways",
        words("table.ways"),
        [
            text_column(words("column.arm"), "arm"),
            text_column(words("column.way"), "kind"),
            text_column(words("column.run"), "run"),
            *([text_column(words("column.teachers"), "teachers")] if has_teachers else []),
        ],
        [
            [
                cell(arm_name(words, arm), arm.name),
                cell(words(f"arm_titles.{arm.kind}"), arm.kind),
                cell(arm.run or words("number.none"), arm.run),
                *([_teachers(words, arm)] if has_teachers else []),
            ]
            for arm in document.arms
        ],
    )


def _teachers(words: Words, arm: Arm) -> Cell:
    names = ", ".join(arm.teachers)
    return cell(names or words("number.none"), names or None)


def comparisons_table(document: StudyDocument, words: Words) -> Table:
    """One line a comparison: difference, tests, and what could have been shown."""
    rows = [
        [
            cell(comparison_name(document, words, one.first, one.second), one.first, one.second),
            cell(words.points(one.difference.mean, signed=True), one.difference.mean),
            cell(
                words.interval_points(one.difference.low, one.difference.high, signed=True),
                one.difference.low,
                one.difference.high,
            ),
            _bootstrap(words, one.difference, partial(words.interval_points, signed=True)),
            probability_cell(words, one.p),
            probability_cell(words, one.p_adjusted),
            cell(
                f"{words.number(one.mcnemar.only_first)} / {words.number(one.mcnemar.only_second)}",
                one.mcnemar.only_first,
                one.mcnemar.only_second,
            ),
            probability_cell(words, one.mcnemar.p),
            points_cell(words, one.smallest_detectable),
            answer_cell(words, one.is_shown),
        ]
        for one in document.comparisons
    ]
    columns = [
        Column(words("column.compared"), ("first", "second"), is_number=False),
        number_column(words("column.difference"), "difference"),
        number_column(words("column.interval"), "difference_low", "difference_high"),
        number_column(words("column.bootstrap"), "bootstrap_low", "bootstrap_high"),
        number_column(words("column.p"), "p"),
        number_column(words("column.p_adjusted"), "p_adjusted"),
        number_column(words("column.only_one"), "only_first", "only_second"),
        number_column(words("column.mcnemar"), "mcnemar_p"),
        number_column(words("column.smallest"), "smallest_detectable"),
        number_column(words("column.shown"), "is_shown"),
    ]
    return Table("comparisons", words("table.comparisons"), columns, rows)


def comparison_name(document: StudyDocument, words: Words, first: str, second: str) -> str:
    """Two arms and the sign between them."""
    names = {arm.name: arm_name(words, arm) for arm in document.arms}
    return words("comparison.name", first=names[first], second=names[second])


def confusion_table(document: StudyDocument, words: Words, only: Arm | None = None) -> Table:
    """One line a true and a predicted class, of one arm or of all."""
    labels = document.data.labels
    rows = [
        [
            cell(arm_name(words, arm), arm.name),
            cell(truth),
            cell(answer),
            decimal_cell(words, count, 1),
            percent_cell(words, count / max(sum(line), 1e-9)),
        ]
        for arm in ([only] if only else document.arms)
        if arm.confusion
        for truth, line in zip(labels, arm.confusion, strict=True)
        for answer, count in zip(labels, line, strict=True)
    ]
    columns = [
        text_column(words("column.arm"), "arm"),
        text_column(words("column.truth"), "truth"),
        text_column(words("column.answer"), "answer"),
        number_column(words("column.count"), "count"),
        number_column(words("column.share"), "share"),
    ]
    return Table("confusion", words("table.confusion"), columns, rows)


def calibration_table(document: StudyDocument, words: Words) -> Table:
    """One line an arm and confidence."""
    rows = [
        [
            cell(arm_name(words, arm), arm.name),
            percent_cell(words, one.confidence),
            percent_cell(words, one.accuracy),
            count_cell(words, one.count),
        ]
        for arm in document.arms
        for one in arm.calibration
    ]
    columns = [
        text_column(words("column.arm"), "arm"),
        number_column(words("column.confidence"), "confidence"),
        number_column(words("column.right"), "accuracy"),
        number_column(words("column.texts"), "count"),
    ]
    return Table("calibration", words("table.calibration"), columns, rows)


def times_table(document: StudyDocument, words: Words) -> Table:
    """How long one training of each arm took."""
    columns = [
        text_column(words("column.arm"), "arm"),
        number_column(words("column.seconds"), "seconds"),
    ]
    rows = [
        [
            cell(arm_name(words, arm), arm.name),
            cell(words.duration(arm.cost.seconds), arm.cost.seconds),
        ]
        for arm in document.arms
    ]
    return Table("times", words("figure.cost.title"), columns, rows)


def cost_table(document: StudyDocument, words: Words) -> Table:
    """What one training of each arm took."""
    none = words("number.none")

    def perhaps(shown: str | None, value: float | None) -> Cell:
        return cell(none, None) if shown is None else cell(shown, value)

    rows = []
    for arm in document.arms:
        cost = arm.cost
        before, read = cost.pretraining_seconds, cost.pretraining_tokens
        memory = cost.memory_bytes
        rows.append(
            [
                cell(arm_name(words, arm), arm.name),
                cell(words.duration(cost.seconds), cost.seconds),
                perhaps(words.number(cost.tokens) if cost.tokens else None, cost.tokens),
                perhaps(None if memory is None else words.memory(memory), memory),
                count_cell(words, cost.parameters),
                perhaps(None if before is None else words.duration(before), before),
                perhaps(None if read is None else words.number(read), read),
            ]
        )
    columns = [
        text_column(words("column.arm"), "arm"),
        number_column(words("column.seconds"), "seconds"),
        number_column(words("column.tokens"), "tokens"),
        number_column(words("column.memory"), "memory_bytes"),
        number_column(words("column.parameters"), "parameters"),
        number_column(words("column.pretraining_seconds"), "pretraining_seconds"),
        number_column(words("column.pretraining_tokens"), "pretraining_tokens"),
    ]
    return Table("cost", words("table.cost"), columns, rows)


def _everywhere(words: Words, arm: Arm) -> Cell:
    found = arm.accuracy_everywhere
    if found is None:
        return cell(words("number.none"), None, None, None)
    return cell(words.percent(found.mean), found.mean, found.low, found.high)
