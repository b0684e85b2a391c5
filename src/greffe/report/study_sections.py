"""Sections about a study's figures: arms, epochs, labels, confusion, calibration, cost.

A section without data is none. Knows the study document and charts, nothing of the page around.
"""

from __future__ import annotations

from greffe.report.blocks import Block, Figure, Prose, Section, SideBySide, chart_texts, section
from greffe.report.catalog import Catalog
from greffe.report.charts import (
    BarRow,
    CalibrationSeries,
    IntervalRow,
    Point,
    Series,
    bar_chart,
    calibration_chart,
    confusion_chart,
    distinct_kinds,
    interval_chart,
    line_chart,
)
from greffe.report.curve_tables import (
    differences_table,
    epochs_table,
    labels_table,
    savings_table,
    seeds_table,
)
from greffe.report.result_tables import (
    arms_table,
    calibration_table,
    comparison_name,
    comparisons_table,
    confusion_table,
    cost_table,
    times_table,
    ways_table,
)
from greffe.report.verdict import arm_name
from greffe.study.arms import ARMS
from greffe.study.document import Arm, StudyDocument


def arm_kinds(document: StudyDocument) -> dict[str, str]:
    """What chooses an arm's colour and marker, the same through all charts."""
    kinds = distinct_kinds(arm.kind for arm in document.arms)
    return {arm.name: kind for arm, kind in zip(document.arms, kinds, strict=True)}


def arms_section(document: StudyDocument, catalog: Catalog) -> Section:
    """Accuracy of every arm, and arms against each other."""
    kinds = arm_kinds(document)
    title = catalog("figure.arms.title")
    svg = interval_chart(
        [
            IntervalRow(
                arm_name(catalog, arm),
                arm.accuracy.mean,
                arm.accuracy.low,
                arm.accuracy.high,
                arm.accuracy.values,
                kinds[arm.name],
            )
            for arm in document.arms
        ],
        ident="arms-chart",
        title=title,
        description=catalog("section.arms.lead"),
        x_label=catalog("figure.arms.x"),
        catalog=chart_texts(catalog),
    )
    caption = catalog("page.interval_note")
    blocks: list[Block] = [
        Figure("arms-chart", title, caption, svg, seeds_table(document, catalog)),
        arms_table(document, catalog),
        ways_table(document, catalog),
    ]
    if document.comparisons:
        blocks += [_comparisons(document, catalog, kinds), comparisons_table(document, catalog)]
        blocks.append(Prose(catalog("comparison.note")))
    return section("arms", catalog, blocks)


def _comparisons(document: StudyDocument, catalog: Catalog, kinds: dict[str, str]) -> Figure:
    title, caption = catalog("figure.comparisons.title"), catalog("figure.comparisons.caption")
    svg = interval_chart(
        [
            IntervalRow(
                comparison_name(document, catalog, one.first, one.second),
                one.difference.mean,
                one.difference.low,
                one.difference.high,
                one.difference.values,
                kinds[one.first],
            )
            for one in document.comparisons
        ],
        ident="comparisons-chart",
        title=title,
        description=caption,
        x_label=catalog("figure.comparisons.x"),
        zero_line=True,
        catalog=chart_texts(catalog),
    )
    return Figure("comparisons-chart", title, caption, svg, differences_table(document, catalog))


def epochs_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """Validation accuracy as fine-tuning goes on, every arm in one chart."""
    kinds = arm_kinds(document)
    series = [
        Series(
            arm_name(catalog, arm),
            [Point(one.epoch, one.mean, one.low, one.high) for one in arm.epochs],
            kinds[arm.name],
        )
        for arm in document.arms
        if arm.epochs
    ]
    if not series:
        return None
    title, caption = catalog("figure.epochs.title"), catalog("figure.epochs.caption")
    svg = line_chart(
        series,
        ident="epochs-chart",
        title=title,
        description=catalog("section.epochs.lead"),
        x_label=catalog("figure.epochs.x"),
        y_label=catalog("figure.epochs.y"),
        catalog=chart_texts(catalog),
    )
    figure = Figure("epochs-chart", title, caption, svg, epochs_table(document, catalog))
    return section("epochs", catalog, [figure])


def labels_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """Accuracy against labels, and which numbers of labels do the same."""
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
    title, caption = catalog("figure.labels.title"), catalog("figure.labels.caption")
    svg = line_chart(
        series,
        ident="labels-chart",
        title=title,
        description=catalog("section.labels.lead"),
        x_label=catalog("figure.labels.x"),
        y_label=catalog("figure.labels.y"),
        x_log=True,
        catalog=chart_texts(catalog),
    )
    blocks: list[Block] = [
        Figure("labels-chart", title, caption, svg, labels_table(document, catalog))
    ]
    if curves.savings:
        blocks.append(savings_table(document, catalog))
    return section("labels", catalog, blocks)


def confusion_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """A matrix for each arm that has one to say; the majority's is known before."""
    arms = [arm for arm in document.arms if arm.confusion and not ARMS[arm.kind].is_constant]
    if not arms:
        return None
    figures = [_confusion(document, arm, number, catalog) for number, arm in enumerate(arms, 1)]
    return section("confusion", catalog, [SideBySide(figures)])


def _confusion(document: StudyDocument, arm: Arm, number: int, catalog: Catalog) -> Figure:
    name = arm_name(catalog, arm)
    ident = f"confusion-{number}"
    title = catalog("figure.confusion.title", name=name)
    right = catalog.percent(arm.accuracy.mean)
    caption = catalog("figure.confusion.caption", right=right)
    svg = confusion_chart(
        arm.confusion,
        document.data.labels,
        ident=ident,
        title=title,
        description=caption,
        x_label=catalog("figure.confusion.x"),
        y_label=catalog("figure.confusion.y"),
        catalog=chart_texts(catalog),
    )
    return Figure(ident, title, caption, svg, confusion_table(document, catalog, arm))


def calibration_section(document: StudyDocument, catalog: Catalog) -> Section | None:
    """Confidence against accuracy."""
    kinds = arm_kinds(document)
    series = [
        CalibrationSeries(arm_name(catalog, arm), arm.calibration, kinds[arm.name])
        for arm in document.arms
        if len(arm.calibration) > 1
    ]
    if not series:
        return None
    title, caption = catalog("figure.calibration.title"), catalog("figure.calibration.caption")
    svg = calibration_chart(
        series,
        ident="calibration-chart",
        title=title,
        description=catalog("section.calibration.lead"),
        x_label=catalog("figure.calibration.x"),
        y_label=catalog("figure.calibration.y"),
        catalog=chart_texts(catalog),
    )
    table = calibration_table(document, catalog)
    figure = Figure("calibration-chart", title, caption, svg, table)
    return section("calibration", catalog, [figure])


def cost_section(document: StudyDocument, catalog: Catalog) -> Section:
    """Time, tokens and memory."""
    kinds = arm_kinds(document)
    title, caption = catalog("figure.cost.title"), catalog("figure.cost.caption")
    svg = bar_chart(
        [
            BarRow(
                arm_name(catalog, arm),
                arm.cost.seconds,
                kinds[arm.name],
                text=catalog.duration(arm.cost.seconds),
            )
            for arm in document.arms
        ],
        ident="cost-chart",
        title=title,
        description=caption,
        x_label=catalog("figure.cost.x"),
        catalog=chart_texts(catalog),
    )
    figure = Figure("cost-chart", title, caption, svg, times_table(document, catalog))
    return section("cost", catalog, [figure, cost_table(document, catalog)])
