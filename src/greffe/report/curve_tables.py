"""Tables behind a study's curves: seed by seed, epoch by epoch, label count by label count."""

from __future__ import annotations

from greffe.report.catalog import Catalog
from greffe.report.report_table import Column, Table, cell, number_column, text_column
from greffe.report.result_tables import comparison_name
from greffe.report.table_cells import (
    bounds_cell,
    count_cell,
    decimal_cell,
    interval_cell,
    percent_cell,
    values_cell,
)
from greffe.report.verdict import arm_name
from greffe.study.document import Saving, StudyDocument


def seeds_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Accuracy of every arm, seed by seed."""
    rows = [
        [
            cell(arm_name(catalog, arm), arm.name),
            percent_cell(catalog, arm.accuracy.mean),
            interval_cell(catalog, arm.accuracy),
            values_cell(catalog, arm.accuracy.values),
        ]
        for arm in document.arms
    ]
    columns = [
        text_column(catalog("column.arm"), "arm"),
        number_column(catalog("column.accuracy"), "accuracy"),
        number_column(catalog("column.interval"), "low", "high"),
        number_column(catalog("column.values"), "by_seed"),
    ]
    return Table("seeds", catalog("table.seeds"), columns, rows)


def differences_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Differences between arms, seed by seed."""
    rows = [
        [
            cell(comparison_name(document, catalog, one.first, one.second), one.first, one.second),
            cell(catalog.points(one.difference.mean, signed=True), one.difference.mean),
            cell(
                catalog.interval_points(one.difference.low, one.difference.high, signed=True),
                one.difference.low,
                one.difference.high,
            ),
            values_cell(catalog, one.difference.values, signed=True),
        ]
        for one in document.comparisons
    ]
    columns = [
        Column(catalog("column.compared"), ("first", "second"), is_number=False),
        number_column(catalog("column.difference"), "difference"),
        number_column(catalog("column.interval"), "low", "high"),
        number_column(catalog("column.values"), "by_seed"),
    ]
    return Table("differences", catalog("table.differences"), columns, rows)


def epochs_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Validation accuracy, one line an arm and look."""
    rows = [
        [
            cell(arm_name(catalog, arm), arm.name),
            decimal_cell(catalog, point.epoch, 2),
            percent_cell(catalog, point.mean),
            bounds_cell(catalog, point.low, point.high),
            values_cell(catalog, point.values),
        ]
        for arm in document.arms
        for point in arm.epochs
    ]
    columns = [
        text_column(catalog("column.arm"), "arm"),
        number_column(catalog("column.epoch"), "epoch"),
        number_column(catalog("column.accuracy"), "accuracy"),
        number_column(catalog("column.interval"), "low", "high"),
        number_column(catalog("column.values"), "by_seed"),
    ]
    return Table("epochs", catalog("table.epochs"), columns, rows)


def labels_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Test accuracy, one line an arm and number of labels."""
    names = {arm.name: arm_name(catalog, arm) for arm in document.arms}
    points = document.label_curves.points if document.label_curves else []
    rows = [
        [
            cell(names.get(point.arm, point.arm), point.arm),
            count_cell(catalog, point.labels),
            percent_cell(catalog, point.accuracy.mean),
            interval_cell(catalog, point.accuracy),
            values_cell(catalog, point.accuracy.values),
        ]
        for point in points
    ]
    columns = [
        text_column(catalog("column.arm"), "arm"),
        number_column(catalog("column.labels"), "labels"),
        number_column(catalog("column.accuracy"), "accuracy"),
        number_column(catalog("column.interval"), "low", "high"),
        number_column(catalog("column.values"), "by_seed"),
    ]
    return Table("labels", catalog("table.labels"), columns, rows)


def savings_table(document: StudyDocument, catalog: Catalog) -> Table:
    """How many labels of one arm do what so many of another do."""
    names = {arm.name: arm_name(catalog, arm) for arm in document.arms}
    savings = document.label_curves.savings if document.label_curves else []

    def labels(value: float | None, most: int) -> str:
        if value is None:
            return catalog("verdict.beyond", most=catalog.number(most))
        return catalog.number(value)

    def equivalent(saving: Saving) -> str:
        shown = labels(saving.equivalent, saving.most)
        return catalog("verdict.at_most", labels=shown) if saving.is_floor else shown

    rows = [
        [
            cell(names.get(one.arm, one.arm), one.arm),
            count_cell(catalog, one.labels),
            cell(names.get(one.against, one.against), one.against),
            cell(equivalent(one), one.equivalent),
            cell(
                catalog.interval(labels(one.low, one.most), labels(one.high, one.most)),
                one.low,
                one.high,
            ),
        ]
        for one in savings
    ]
    columns = [
        text_column(catalog("column.arm"), "arm"),
        number_column(catalog("column.labels"), "labels"),
        text_column(catalog("column.second"), "against"),
        number_column(catalog("column.equivalent"), "equivalent"),
        number_column(catalog("column.interval"), "low", "high"),
    ]
    return Table("savings", catalog("table.savings"), columns, rows)
