"""Sections about a study's figures: arms, epochs, labels, confusion, calibration, cost.

A section without data is none. Knows the study document and charts, nothing of the page around.
"""

from __future__ import annotations

from greffe.report.blocks import Beside, Block, Figure, Prose, Section, chart_words, section
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
from greffe.report.study_tables import (
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
from greffe.report.words import Words
from greffe.study.document import Arm, StudyDocument


def arm_kinds(document: StudyDocument) -> dict[str, str]:
    """What chooses an arm's colour and marker, the same through all charts."""
    kinds = distinct_kinds(arm.kind for arm in document.arms)
    return {arm.name: kind for arm, kind in zip(document.arms, kinds, strict=True)}


def arms_section(document: StudyDocument, words: Words) -> Section:
    """Accuracy of every arm, and arms against each other."""
    kinds = arm_kinds(document)
    title = words("figure.arms.title")
    svg = interval_chart(
        [
            IntervalRow(
                arm_name(words, arm),
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
        description=words("section.arms.lead"),
        x_label=words("figure.arms.x"),
        words=chart_words(words),
    )
    caption = words("page.interval_note")
    blocks: list[Block] = [
        Figure("arms-chart", title, caption, svg, seeds_table(document, words)),
        arms_table(document, words),
        ways_table(document, words),
    ]
    if document.comparisons:
        blocks += [_comparisons(document, words, kinds), comparisons_table(document, words)]
        blocks.append(Prose(words("comparison.note")))
    return section("arms", words, blocks)


def _comparisons(document: StudyDocument, words: Words, kinds: dict[str, str]) -> Figure:
    title, caption = words("figure.comparisons.title"), words("figure.comparisons.caption")
    svg = interval_chart(
        [
            IntervalRow(
                comparison_name(document, words, one.first, one.second),
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
        x_label=words("figure.comparisons.x"),
        zero_line=True,
        words=chart_words(words),
    )
    return Figure("comparisons-chart", title, caption, svg, differences_table(document, words))


def epochs_section(document: StudyDocument, words: Words) -> Section | None:
    """Validation accuracy as fine-tuning goes on, every arm in one chart."""
    kinds = arm_kinds(document)
    series = [
        Series(
            arm_name(words, arm),
            [Point(one.epoch, one.mean, one.low, one.high) for one in arm.epochs],
            kinds[arm.name],
        )
        for arm in document.arms
        if arm.epochs
    ]
    if not series:
        return None
    title, caption = words("figure.epochs.title"), words("figure.epochs.caption")
    svg = line_chart(
        series,
        ident="epochs-chart",
        title=title,
        description=words("section.epochs.lead"),
        x_label=words("figure.epochs.x"),
        y_label=words("figure.epochs.y"),
        words=chart_words(words),
    )
    figure = Figure("epochs-chart", title, caption, svg, epochs_table(document, words))
    return section("epochs", words, [figure])


def labels_section(document: StudyDocument, words: Words) -> Section | None:
    """Accuracy against labels, and which numbers of labels do the same."""
    curves = document.label_curves
    if curves is None or not curves.points:
        return None
    kinds = arm_kinds(document)
    series = [
        Series(
            arm_name(words, arm),
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
    title, caption = words("figure.labels.title"), words("figure.labels.caption")
    svg = line_chart(
        series,
        ident="labels-chart",
        title=title,
        description=words("section.labels.lead"),
        x_label=words("figure.labels.x"),
        y_label=words("figure.labels.y"),
        x_log=True,
        words=chart_words(words),
    )
    blocks: list[Block] = [
        Figure("labels-chart", title, caption, svg, labels_table(document, words))
    ]
    if curves.savings:
        blocks.append(savings_table(document, words))
    return section("labels", words, blocks)


def confusion_section(document: StudyDocument, words: Words) -> Section | None:
    """A matrix for each arm that has one to say; the majority's is known before."""
    arms = [arm for arm in document.arms if arm.confusion and arm.kind != "majority"]
    if not arms:
        return None
    figures = [_confusion(document, arm, number, words) for number, arm in enumerate(arms, 1)]
    return section("confusion", words, [Beside(figures)])


def _confusion(document: StudyDocument, arm: Arm, number: int, words: Words) -> Figure:
    name = arm_name(words, arm)
    ident = f"confusion-{number}"
    title = words("figure.confusion.title", name=name)
    right = words.percent(arm.accuracy.mean)
    caption = words("figure.confusion.caption", right=right)
    svg = confusion_chart(
        arm.confusion,
        document.data.labels,
        ident=ident,
        title=title,
        description=caption,
        x_label=words("figure.confusion.x"),
        y_label=words("figure.confusion.y"),
        words=chart_words(words),
    )
    return Figure(ident, title, caption, svg, confusion_table(document, words, arm))


def calibration_section(document: StudyDocument, words: Words) -> Section | None:
    """Confidence against accuracy."""
    kinds = arm_kinds(document)
    series = [
        CalibrationSeries(arm_name(words, arm), arm.calibration, kinds[arm.name])
        for arm in document.arms
        if len(arm.calibration) > 1
    ]
    if not series:
        return None
    title, caption = words("figure.calibration.title"), words("figure.calibration.caption")
    svg = calibration_chart(
        series,
        ident="calibration-chart",
        title=title,
        description=words("section.calibration.lead"),
        x_label=words("figure.calibration.x"),
        y_label=words("figure.calibration.y"),
        words=chart_words(words),
    )
    table = calibration_table(document, words)
    figure = Figure("calibration-chart", title, caption, svg, table)
    return section("calibration", words, [figure])


def cost_section(document: StudyDocument, words: Words) -> Section:
    """Time, tokens and memory."""
    kinds = arm_kinds(document)
    title, caption = words("figure.cost.title"), words("figure.cost.caption")
    svg = bar_chart(
        [
            BarRow(
                arm_name(words, arm),
                arm.cost.seconds,
                kinds[arm.name],
                text=words.duration(arm.cost.seconds),
            )
            for arm in document.arms
        ],
        ident="cost-chart",
        title=title,
        description=caption,
        x_label=words("figure.cost.x"),
        words=chart_words(words),
    )
    figure = Figure("cost-chart", title, caption, svg, times_table(document, words))
    return section("cost", words, [figure, cost_table(document, words)])
