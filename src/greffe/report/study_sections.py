"""Sections on a study's results: arms, epochs, labels, confusion, calibration, cost.

A section without data is None. Knows the study document and charts, nothing of the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from greffe.report.blocks import Block, Figure, Prose, Section, SideBySide, figure, section
from greffe.report.catalog import Catalog
from greffe.report.charts.bars import BarRow, bar_chart
from greffe.report.charts.calibration_chart import CalibrationSeries, calibration_chart
from greffe.report.charts.confusion import confusion_chart
from greffe.report.charts.interval_chart import IntervalRow, interval_chart
from greffe.report.charts.lines import Point, Series, line_chart
from greffe.report.charts.styles import distinct_kinds
from greffe.report.result_tables import (
    arm_kinds_table,
    arms_table,
    calibration_table,
    comparison_name,
    comparisons_table,
    confusion_table,
    cost_table,
    differences_table,
    epochs_table,
    frequent_confusions,
    has_many_classes,
    labels_table,
    savings_table,
    seeds_table,
    times_table,
)
from greffe.report.verdict import arm_name, arm_names
from greffe.study.arms import ARMS
from greffe.study.document import Arm, StudyDocument


def arm_kinds(document: StudyDocument) -> dict[str, str]:
    """Return what chooses an arm's color and marker, the same in all charts."""
    kinds = distinct_kinds(arm.kind for arm in document.arms)
    return {arm.name: kind for arm, kind in zip(document.arms, kinds, strict=True)}


def epoch_series(arms: Iterable[Arm], names: dict[str, str], kinds: dict[str, str]) -> list[Series]:
    """Return a line per arm that has epochs."""
    return [
        Series(
            names[arm.name],
            [Point(one.epoch, one.mean, one.low, one.high) for one in arm.epochs],
            kinds[arm.name],
        )
        for arm in arms
        if arm.epochs
    ]


def arms_section(document: StudyDocument, catalog: Catalog) -> Section:
    """Return the accuracy of every arm, and arms against each other."""
    kinds = arm_kinds(document)
    rows = [
        IntervalRow(arm_name(catalog, arm), arm.accuracy, kinds[arm.name]) for arm in document.arms
    ]
    blocks: list[Block] = [
        figure("arms", catalog, seeds_table(document, catalog), partial(interval_chart, rows)),
        arms_table(document, catalog),
        arm_kinds_table(document, catalog),
    ]
    if document.comparisons:
        pairs = [
            IntervalRow(comparison_name(document, catalog, one), one.difference, kinds[one.first])
            for one in document.comparisons
        ]
        draw = partial(interval_chart, pairs, zero_line=True)
        table = differences_table(document, catalog)
        blocks += [
            figure("comparisons", catalog, table, draw),
            comparisons_table(document, catalog),
            Prose(catalog("comparison.note")),
        ]
    return section("arms", catalog, blocks)


def epochs_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """Return the validation accuracy during fine-tuning, every arm in one chart."""
    names = arm_names(catalog, document)
    series = epoch_series(document.arms, names, arm_kinds(document))
    if not series:
        return None
    table = epochs_table(document.arms, names, catalog)
    chart = figure("epochs", catalog, table, partial(line_chart, series))
    return section("epochs", catalog, [chart])


def labels_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """Return accuracy against labels, and which numbers of labels are equivalent."""
    curves = document.label_curves
    if curves is None or not curves.points:
        return None
    kinds = arm_kinds(document)
    series = [
        Series(
            arm_name(catalog, arm),
            [
                Point(one.labels, one.accuracy.mean, one.accuracy.low, one.accuracy.high)
                for one in curves.points
                if one.arm == arm.name
            ],
            kinds[arm.name],
        )
        for arm in document.arms
        if any(one.arm == arm.name for one in curves.points)
    ]
    table = labels_table(document, catalog)
    draw = partial(line_chart, series, x_log=True)
    blocks: list[Block] = [figure("labels", catalog, table, draw)]
    if curves.savings:
        blocks.append(savings_table(document, catalog))
    return section("labels", catalog, blocks)


def confusion_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """Return a matrix per arm, except for arms that always give the same answer.

    With many classes, a table of the most frequent confusions.
    """
    arms = [arm for arm in document.arms if arm.confusion and not ARMS[arm.kind].is_constant]
    if not arms:
        return None
    if has_many_classes(document):
        return section("confusions", catalog, [frequent_confusions(document, catalog, arms)])
    figures = [_confusion(document, arm, number, catalog) for number, arm in enumerate(arms, 1)]
    return section("confusion", catalog, [SideBySide(figures)])


def _confusion(document: StudyDocument, arm: Arm, number: int, catalog: Catalog) -> Figure:
    return figure(
        "confusion",
        catalog,
        confusion_table(document, catalog, arm),
        partial(confusion_chart, arm.confusion, document.data.labels),
        ident=f"confusion-{number}",
        title=catalog("figure.confusion.title", name=arm_name(catalog, arm)),
        caption=catalog("figure.confusion.caption", right=catalog.percent(arm.accuracy.mean)),
    )


def calibration_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """Return confidence against accuracy."""
    kinds = arm_kinds(document)
    series = [
        CalibrationSeries(arm_name(catalog, arm), arm.calibration, kinds[arm.name])
        for arm in document.arms
        if len(arm.calibration) > 1
    ]
    if not series:
        return None
    table = calibration_table(document, catalog)
    chart = figure("calibration", catalog, table, partial(calibration_chart, series))
    return section("calibration", catalog, [chart])


def cost_section(document: StudyDocument, catalog: Catalog) -> Section:
    """Return time, tokens and memory."""
    kinds = arm_kinds(document)
    bars = [
        BarRow(
            arm_name(catalog, arm),
            arm.cost.seconds,
            catalog.duration(arm.cost.seconds),
            kinds[arm.name],
        )
        for arm in document.arms
    ]
    chart = figure("cost", catalog, times_table(document, catalog), partial(bar_chart, bars))
    return section("cost", catalog, [chart, cost_table(document, catalog)])
