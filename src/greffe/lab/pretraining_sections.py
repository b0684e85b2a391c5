"""Sections of questions 4 and 5: pretrained or from scratch, left to right or masked."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.config.spans import Span
from greffe.lab.lab_document import LabDocument
from greffe.objectives.masked import Masked
from greffe.report.blocks import Block, Figure, Prose, Section, chart_texts, section
from greffe.report.catalog import Catalog
from greffe.report.charts import IntervalRow, Point, Series, interval_chart, line_chart
from greffe.report.report_table import Table, cell, number_column, text_column
from greffe.report.table_cells import count_cell, interval_cell, percent_cell, values_cell
from greffe.report.verdict import arm_name, verdict
from greffe.study.arms.majority_arm import MajorityArm
from greffe.study.arms.pretrained_arm import PretrainedArm
from greffe.study.arms.scratch_arm import ScratchArm
from greffe.study.arms.tfidf_arm import TfidfArm
from greffe.study.document import Arm, Comparison, StudyDocument

PRETRAINED, SCRATCH = PretrainedArm.kind, ScratchArm.kind
MAJORITY, TFIDF = MajorityArm.kind, TfidfArm.kind


def pretraining_section(document: LabDocument, catalog: Catalog) -> Section:
    """Question 4: two arms over the epochs, and on the test part."""
    arms = _arms(document.study, (PRETRAINED, SCRATCH))
    names = {arm.name: arm_name(catalog, arm) for arm in arms}
    plain = {arm.name: catalog.percent(arm.accuracy.mean) for arm in document.study.arms}
    blocks: list[Block] = [
        Prose(pretraining_answer(document.study, catalog)),
        _epochs("pretraining-epochs", arms, names, catalog),
        _tested("pretraining-test", arms, names, catalog),
        _table("pretraining", arms, names, catalog),
        Prose(catalog("lab.study.plain", tfidf=plain[TFIDF], majority=plain[MAJORITY])),
    ]
    return section("pretraining", catalog, blocks)


def pretraining_answer(study: StudyDocument, catalog: Catalog) -> str:
    """The study's first question alone, without its baselines."""
    alone = study.model_copy(
        update={
            "arms": _arms(study, (PRETRAINED, SCRATCH)),
            "comparisons": [_comparison(study, PRETRAINED, SCRATCH)],
        }
    )
    return verdict(alone, catalog.language).headline


def objectives_section(document: LabDocument, catalog: Catalog) -> Section:
    """Question 5: two bases and, to see what either brought, the model from scratch."""
    causal, masked = document.causal_arm, document.masked_arm
    arms = _arms(document.study, (causal, masked, SCRATCH))
    names = {arm.name: arm_name(catalog, arm) for arm in arms}
    names[causal], names[masked] = catalog("lab.study.causal"), catalog("lab.study.masked")
    blocks: list[Block] = [
        Prose(objectives_answer(document, catalog)),
        _epochs("objectives-epochs", arms, names, catalog),
        _tested("objectives-test", arms, names, catalog),
        _table("objectives", arms, names, catalog),
        Prose(
            catalog(
                "lab.study.budget",
                budget=spoken_budget(document.data.budget, catalog),
                ratio=catalog.percent(Masked().ratio, 0),
            )
        ),
        Prose(catalog("lab.study.whole")),
    ]
    return section("objectives", catalog, blocks)


def spoken_budget(budget: str, catalog: Catalog) -> str:
    """`800steps` or `10m` as a reader says it."""
    span = Span.parse(budget)
    if span.unit == "seconds":
        return catalog.duration(span.amount)
    return catalog.counted(span.amount, span.unit.removesuffix("s"))


def objectives_answer(document: LabDocument, catalog: Catalog) -> str:
    """Left to right against masked: who was better, or that nobody was shown to be."""
    study = document.study
    causal, masked = _arms(study, (document.causal_arm, document.masked_arm))
    found = _comparison(study, masked.name, causal.name)
    # The study may hold the two in either order: seen here from the masked arm.
    sign = 1 if found.first == masked.name else -1
    difference = sign * found.difference.mean
    low, high = sorted((sign * found.difference.low, sign * found.difference.high))
    shares = {arm.name: catalog.percent(arm.accuracy.mean) for arm in (causal, masked)}
    if not found.is_significant:
        return catalog(
            "lab.answer.objectives_not_shown",
            causal=shares[causal.name],
            masked=shares[masked.name],
            difference=catalog.counted_points(difference, signed=True),
            interval=catalog.interval_points(low, high),
        )
    winner, loser = (masked, causal) if difference > 0 else (causal, masked)
    if difference < 0:
        low, high = -high, -low
    return catalog(
        "lab.answer.objectives_shown",
        winner=catalog("lab.answer.masked" if winner is masked else "lab.answer.causal"),
        difference=catalog.counted_points(abs(difference)),
        interval=catalog.interval_points(low, high),
        p=catalog.probability(found.p_adjusted),
        first=shares[winner.name],
        second=shares[loser.name],
    )


# --- figures ------------------------------------------------------------------------------------


def _epochs(ident: str, arms: Sequence[Arm], names: dict[str, str], catalog: Catalog) -> Figure:
    title = catalog("lab.study.epochs_title", names=catalog.enumeration(list(names.values())))
    caption = catalog("lab.study.epochs_caption")
    svg = line_chart(
        [
            Series(
                names[arm.name],
                [Point(point.epoch, point.mean, point.low, point.high) for point in arm.epochs],
                _style(arm),
            )
            for arm in arms
        ],
        ident=ident,
        title=title,
        description=caption,
        x_label=catalog("figure.epochs.x"),
        y_label=catalog("figure.epochs.y"),
        catalog=chart_texts(catalog),
    )
    rows = [
        [
            cell(names[arm.name], arm.name),
            cell(catalog.decimal(point.epoch, 1), point.epoch),
            percent_cell(catalog, point.mean),
            cell(catalog.interval_percent(point.low, point.high), point.low, point.high),
            values_cell(catalog, point.values),
        ]
        for arm in arms
        for point in arm.epochs
    ]
    columns = [
        text_column(catalog("column.arm"), "arm"),
        number_column(catalog("column.epoch"), "epoch"),
        number_column(catalog("column.accuracy"), "accuracy"),
        number_column(catalog("column.interval"), "low", "high"),
        number_column(catalog("column.values"), "values"),
    ]
    return Figure(ident, title, caption, svg, Table(ident, title, columns, rows))


def _tested(ident: str, arms: Sequence[Arm], names: dict[str, str], catalog: Catalog) -> Figure:
    title = catalog("lab.study.test_title", names=catalog.enumeration(list(names.values())))
    caption = catalog("lab.study.test_caption")
    svg = interval_chart(
        [
            IntervalRow(
                names[arm.name],
                arm.accuracy.mean,
                arm.accuracy.low,
                arm.accuracy.high,
                arm.accuracy.values,
                _style(arm),
            )
            for arm in arms
        ],
        ident=ident,
        title=title,
        description=caption,
        x_label=catalog("figure.arms.x"),
        catalog=chart_texts(catalog),
    )
    rows = [
        [cell(names[arm.name], arm.name), values_cell(catalog, arm.accuracy.values)] for arm in arms
    ]
    columns = [
        text_column(catalog("column.arm"), "arm"),
        number_column(catalog("column.values"), "accuracy"),
    ]
    return Figure(ident, title, caption, svg, Table(ident, title, columns, rows))


def _table(name: str, arms: Sequence[Arm], names: dict[str, str], catalog: Catalog) -> Table:
    none = cell(catalog("number.none"), None)
    rows = []
    for arm in arms:
        tokens = arm.cost.pretraining_tokens
        rows.append(
            [
                cell(names[arm.name], arm.name),
                percent_cell(catalog, arm.accuracy.mean),
                interval_cell(catalog, arm.accuracy),
                none if tokens is None else count_cell(catalog, tokens),
            ]
        )
    columns = [
        text_column(catalog("column.arm"), "arm"),
        number_column(catalog("column.accuracy"), "accuracy"),
        number_column(catalog("column.interval"), "low", "high"),
        number_column(catalog("lab.study.column_pretraining"), "pretraining_tokens"),
    ]
    return Table(name, catalog("lab.study.table"), columns, rows)


def _style(arm: Arm) -> str:
    # The second pretrained arm looks the same whichever others a chart shows.
    return arm.kind if arm.name in (PRETRAINED, SCRATCH) else f"{arm.kind}-2"


# --- looking up ---------------------------------------------------------------------------------


def _arms(study: StudyDocument, names: Sequence[str]) -> list[Arm]:
    by_name = {arm.name: arm for arm in study.arms}
    return [by_name[name] for name in names]


def _comparison(study: StudyDocument, first: str, second: str) -> Comparison:
    return next(one for one in study.comparisons if {one.first, one.second} == {first, second})
