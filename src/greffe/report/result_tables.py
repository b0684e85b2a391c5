"""Tables of a study's figures at all labels: arms, comparisons, confusion, calibration, cost.

Knows the study document and words, nothing of pages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from greffe.evaluation.intervals import Estimate
from greffe.report.catalog import Catalog
from greffe.report.report_table import Cell, Column, Table, cell, number_column, text_column
from greffe.report.table_cells import (
    answer_cell,
    count_cell,
    decimal_cell,
    interval_cell,
    percent_cell,
    points_cell,
    probability_cell,
)
from greffe.report.verdict import arm_name
from greffe.study.document import Arm, StudyDocument


def arms_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Every arm with its scores; a column for all test texts if some were left out."""
    has_repeated = any(arm.accuracy_everywhere for arm in document.arms)
    rows = [
        [
            cell(arm_name(catalog, arm), arm.name, arm.kind),
            percent_cell(catalog, arm.accuracy.mean),
            interval_cell(catalog, arm.accuracy),
            _bootstrap(catalog, arm.accuracy, catalog.interval_percent),
            *([_everywhere(catalog, arm)] if has_repeated else []),
            points_cell(catalog, arm.accuracy.deviation),
            percent_cell(catalog, arm.macro_f1.mean),
            decimal_cell(catalog, arm.log_loss.mean, 3),
            percent_cell(catalog, arm.calibration_error.mean),
            count_cell(catalog, len(arm.seeds)),
        ]
        for arm in document.arms
    ]
    everywhere = number_column(
        catalog("column.everywhere"), "accuracy_everywhere", "everywhere_low", "everywhere_high"
    )
    columns = [
        Column(catalog("column.arm"), ("arm", "kind"), is_number=False),
        number_column(catalog("column.accuracy"), "accuracy"),
        number_column(catalog("column.interval"), "accuracy_low", "accuracy_high"),
        number_column(catalog("column.bootstrap"), "bootstrap_low", "bootstrap_high"),
        *([everywhere] if has_repeated else []),
        number_column(catalog("column.deviation"), "accuracy_deviation"),
        number_column(catalog("column.macro_f1"), "macro_f1"),
        number_column(catalog("column.log_loss"), "log_loss"),
        number_column(catalog("column.calibration_error"), "calibration_error"),
        number_column(catalog("column.seeds"), "seeds"),
    ]
    return Table("arms", catalog("table.arms"), columns, rows)


def _bootstrap(catalog: Catalog, found: Estimate, write: Callable[[float, float], str]) -> Cell:
    if found.bootstrap is None:
        return cell(catalog("number.none"), None, None)
    low, high = found.bootstrap
    return cell(write(low, high), low, high)


def ways_table(document: StudyDocument, catalog: Catalog) -> Table:
    """What each arm is, the run it starts from and, where an arm has some, its teachers."""
    has_feature_runs = any(arm.feature_runs for arm in document.arms)
    return Table(
        "ways",
        catalog("table.ways"),
        [
            text_column(catalog("column.arm"), "arm"),
            text_column(catalog("column.way"), "kind"),
            text_column(catalog("column.run"), "run"),
            *(
                [text_column(catalog("column.teachers"), "feature_runs")]
                if has_feature_runs
                else []
            ),
        ],
        [
            [
                cell(arm_name(catalog, arm), arm.name),
                cell(catalog(f"arm_titles.{arm.kind}"), arm.kind),
                cell(arm.run or catalog("number.none"), arm.run),
                *([_feature_runs(catalog, arm)] if has_feature_runs else []),
            ]
            for arm in document.arms
        ],
    )


def _feature_runs(catalog: Catalog, arm: Arm) -> Cell:
    names = ", ".join(arm.feature_runs)
    return cell(names or catalog("number.none"), names or None)


def comparisons_table(document: StudyDocument, catalog: Catalog) -> Table:
    """One line a comparison: difference, tests, and what could have been shown."""
    rows = [
        [
            cell(comparison_name(document, catalog, one.first, one.second), one.first, one.second),
            cell(catalog.points(one.difference.mean, signed=True), one.difference.mean),
            cell(
                catalog.interval_points(one.difference.low, one.difference.high, signed=True),
                one.difference.low,
                one.difference.high,
            ),
            _bootstrap(catalog, one.difference, partial(catalog.interval_points, signed=True)),
            probability_cell(catalog, one.p),
            probability_cell(catalog, one.p_adjusted),
            cell(
                f"{catalog.number(one.mcnemar.only_first)} / "
                f"{catalog.number(one.mcnemar.only_second)}",
                one.mcnemar.only_first,
                one.mcnemar.only_second,
            ),
            probability_cell(catalog, one.mcnemar.p),
            points_cell(catalog, one.smallest_detectable),
            answer_cell(catalog, one.is_significant),
        ]
        for one in document.comparisons
    ]
    columns = [
        Column(catalog("column.compared"), ("first", "second"), is_number=False),
        number_column(catalog("column.difference"), "difference"),
        number_column(catalog("column.interval"), "difference_low", "difference_high"),
        number_column(catalog("column.bootstrap"), "bootstrap_low", "bootstrap_high"),
        number_column(catalog("column.p"), "p"),
        number_column(catalog("column.p_adjusted"), "p_adjusted"),
        number_column(catalog("column.only_one"), "only_first", "only_second"),
        number_column(catalog("column.mcnemar"), "mcnemar_p"),
        number_column(catalog("column.smallest"), "smallest_detectable"),
        number_column(catalog("column.shown"), "is_significant"),
    ]
    return Table("comparisons", catalog("table.comparisons"), columns, rows)


def comparison_name(document: StudyDocument, catalog: Catalog, first: str, second: str) -> str:
    """Two arms and the sign between them."""
    names = {arm.name: arm_name(catalog, arm) for arm in document.arms}
    return catalog("comparison.name", first=names[first], second=names[second])


def confusion_table(document: StudyDocument, catalog: Catalog, only: Arm | None = None) -> Table:
    """One line a true and a predicted class, of one arm or of all."""
    labels = document.data.labels
    rows = [
        [
            cell(arm_name(catalog, arm), arm.name),
            cell(targets),
            cell(answer),
            decimal_cell(catalog, count, 1),
            percent_cell(catalog, count / max(sum(line), 1e-9)),
        ]
        for arm in ([only] if only else document.arms)
        if arm.confusion
        for targets, line in zip(labels, arm.confusion, strict=True)
        for answer, count in zip(labels, line, strict=True)
    ]
    columns = [
        text_column(catalog("column.arm"), "arm"),
        text_column(catalog("column.truth"), "targets"),
        text_column(catalog("column.answer"), "answer"),
        number_column(catalog("column.count"), "count"),
        number_column(catalog("column.share"), "share"),
    ]
    return Table("confusion", catalog("table.confusion"), columns, rows)


def calibration_table(document: StudyDocument, catalog: Catalog) -> Table:
    """One line an arm and confidence."""
    rows = [
        [
            cell(arm_name(catalog, arm), arm.name),
            percent_cell(catalog, one.confidence),
            percent_cell(catalog, one.accuracy),
            count_cell(catalog, one.count),
        ]
        for arm in document.arms
        for one in arm.calibration
    ]
    columns = [
        text_column(catalog("column.arm"), "arm"),
        number_column(catalog("column.confidence"), "confidence"),
        number_column(catalog("column.right"), "accuracy"),
        number_column(catalog("column.texts"), "count"),
    ]
    return Table("calibration", catalog("table.calibration"), columns, rows)


def times_table(document: StudyDocument, catalog: Catalog) -> Table:
    """How long one training of each arm took."""
    columns = [
        text_column(catalog("column.arm"), "arm"),
        number_column(catalog("column.seconds"), "seconds"),
    ]
    rows = [
        [
            cell(arm_name(catalog, arm), arm.name),
            cell(catalog.duration(arm.cost.seconds), arm.cost.seconds),
        ]
        for arm in document.arms
    ]
    return Table("times", catalog("figure.cost.title"), columns, rows)


def cost_table(document: StudyDocument, catalog: Catalog) -> Table:
    """What one training of each arm took."""
    none = catalog("number.none")

    def perhaps(shown: str | None, value: float | None) -> Cell:
        return cell(none, None) if shown is None else cell(shown, value)

    rows = []
    for arm in document.arms:
        cost = arm.cost
        before, read = cost.pretraining_seconds, cost.pretraining_tokens
        memory = cost.memory_bytes
        rows.append(
            [
                cell(arm_name(catalog, arm), arm.name),
                cell(catalog.duration(cost.seconds), cost.seconds),
                perhaps(catalog.number(cost.tokens) if cost.tokens else None, cost.tokens),
                perhaps(None if memory is None else catalog.memory(memory), memory),
                count_cell(catalog, cost.parameters),
                perhaps(None if before is None else catalog.duration(before), before),
                perhaps(None if read is None else catalog.number(read), read),
            ]
        )
    columns = [
        text_column(catalog("column.arm"), "arm"),
        number_column(catalog("column.seconds"), "seconds"),
        number_column(catalog("column.tokens"), "tokens"),
        number_column(catalog("column.memory"), "memory_bytes"),
        number_column(catalog("column.parameters"), "parameters"),
        number_column(catalog("column.pretraining_seconds"), "pretraining_seconds"),
        number_column(catalog("column.pretraining_tokens"), "pretraining_tokens"),
    ]
    return Table("cost", catalog("table.cost"), columns, rows)


def _everywhere(catalog: Catalog, arm: Arm) -> Cell:
    found = arm.accuracy_everywhere
    if found is None:
        return cell(catalog("number.none"), None, None, None)
    return cell(catalog.percent(found.mean), found.mean, found.low, found.high)
