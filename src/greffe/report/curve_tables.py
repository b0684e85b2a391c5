"""Tables behind a study's curves: seed by seed, epoch by epoch, label count by label count."""

from __future__ import annotations

from greffe.report.cells import (
    bounds_cell,
    count_cell,
    decimal_cell,
    interval_cell,
    percent_cell,
    values_cell,
)
from greffe.report.study_tables import comparison_name
from greffe.report.tables import Column, Table, cell, number_column, text_column
from greffe.report.verdict import arm_name
from greffe.report.words import Words
from greffe.study.document import Saving, StudyDocument


def seeds_table(document: StudyDocument, words: Words) -> Table:
    """Accuracy of every arm, seed by seed."""
    rows = [
        [
            cell(arm_name(words, arm), arm.name),
            percent_cell(words, arm.accuracy.mean),
            interval_cell(words, arm.accuracy),
            values_cell(words, arm.accuracy.values),
        ]
        for arm in document.arms
    ]
    columns = [
        text_column(words("column.arm"), "arm"),
        number_column(words("column.accuracy"), "accuracy"),
        number_column(words("column.interval"), "low", "high"),
        number_column(words("column.values"), "by_seed"),
    ]
    return Table("seeds", words("table.seeds"), columns, rows)


def differences_table(document: StudyDocument, words: Words) -> Table:
    """Differences between arms, seed by seed."""
    rows = [
        [
            cell(comparison_name(document, words, one.first, one.second), one.first, one.second),
            cell(words.points(one.difference.mean, signed=True), one.difference.mean),
            cell(
                words.interval_points(one.difference.low, one.difference.high, signed=True),
                one.difference.low,
                one.difference.high,
            ),
            values_cell(words, one.difference.values, signed=True),
        ]
        for one in document.comparisons
    ]
    columns = [
        Column(words("column.compared"), ("first", "second"), is_number=False),
        number_column(words("column.difference"), "difference"),
        number_column(words("column.interval"), "low", "high"),
        number_column(words("column.values"), "by_seed"),
    ]
    return Table("differences", words("table.differences"), columns, rows)


def epochs_table(document: StudyDocument, words: Words) -> Table:
    """Validation accuracy, one line an arm and look."""
    rows = [
        [
            cell(arm_name(words, arm), arm.name),
            decimal_cell(words, point.epoch, 2),
            percent_cell(words, point.mean),
            bounds_cell(words, point.low, point.high),
            values_cell(words, point.values),
        ]
        for arm in document.arms
        for point in arm.epochs
    ]
    columns = [
        text_column(words("column.arm"), "arm"),
        number_column(words("column.epoch"), "epoch"),
        number_column(words("column.accuracy"), "accuracy"),
        number_column(words("column.interval"), "low", "high"),
        number_column(words("column.values"), "by_seed"),
    ]
    return Table("epochs", words("table.epochs"), columns, rows)


def labels_table(document: StudyDocument, words: Words) -> Table:
    """Test accuracy, one line an arm and number of labels."""
    names = {arm.name: arm_name(words, arm) for arm in document.arms}
    points = document.label_curves.points if document.label_curves else []
    rows = [
        [
            cell(names.get(point.arm, point.arm), point.arm),
            count_cell(words, point.labels),
            percent_cell(words, point.accuracy.mean),
            interval_cell(words, point.accuracy),
            values_cell(words, point.accuracy.values),
        ]
        for point in points
    ]
    columns = [
        text_column(words("column.arm"), "arm"),
        number_column(words("column.labels"), "labels"),
        number_column(words("column.accuracy"), "accuracy"),
        number_column(words("column.interval"), "low", "high"),
        number_column(words("column.values"), "by_seed"),
    ]
    return Table("labels", words("table.labels"), columns, rows)


def savings_table(document: StudyDocument, words: Words) -> Table:
    """How many labels of one arm do what so many of another do."""
    names = {arm.name: arm_name(words, arm) for arm in document.arms}
    savings = document.label_curves.savings if document.label_curves else []

    def labels(value: float | None, most: int) -> str:
        if value is None:
            return words("verdict.beyond", most=words.number(most))
        return words.number(value)

    def equivalent(saving: Saving) -> str:
        shown = labels(saving.equivalent, saving.most)
        return words("verdict.at_most", labels=shown) if saving.is_floor else shown

    rows = [
        [
            cell(names.get(one.arm, one.arm), one.arm),
            count_cell(words, one.labels),
            cell(names.get(one.against, one.against), one.against),
            cell(equivalent(one), one.equivalent),
            cell(
                words.interval(labels(one.low, one.most), labels(one.high, one.most)),
                one.low,
                one.high,
            ),
        ]
        for one in savings
    ]
    columns = [
        text_column(words("column.arm"), "arm"),
        number_column(words("column.labels"), "labels"),
        text_column(words("column.second"), "against"),
        number_column(words("column.equivalent"), "equivalent"),
        number_column(words("column.interval"), "low", "high"),
    ]
    return Table("savings", words("table.savings"), columns, rows)
