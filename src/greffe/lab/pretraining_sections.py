"""Sections of questions 4 and 5: pretrained or from scratch, causal or masked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from greffe.config.spans import Span
from greffe.lab.lab_document import LabDocument
from greffe.objectives.masked import Masked
from greffe.report.blocks import Block, Figure, Prose, Section, figure, section
from greffe.report.catalog import Catalog
from greffe.report.charts.interval_chart import IntervalRow, interval_chart
from greffe.report.charts.lines import line_chart
from greffe.report.report_table import Table, TableBuilder, bounds
from greffe.report.result_tables import epochs_table
from greffe.report.study_sections import epoch_series
from greffe.report.verdict import arm_name, verdict
from greffe.study.arms.majority_arm import MajorityArm
from greffe.study.arms.pretrained_arm import PretrainedArm
from greffe.study.arms.scratch_arm import ScratchArm
from greffe.study.arms.tfidf_arm import TfidfArm
from greffe.study.document import Arm, Comparison, StudyDocument

PRETRAINED, SCRATCH = PretrainedArm.kind, ScratchArm.kind
MAJORITY, TFIDF = MajorityArm.kind, TfidfArm.kind


def pretraining_section(document: LabDocument, catalog: Catalog) -> Section:
    """Return question 4: two arms during fine-tuning, and on the test part."""
    arms = _arms(document.study, (PRETRAINED, SCRATCH))
    names = {arm.name: arm_name(catalog, arm) for arm in arms}
    accuracy = {arm.name: catalog.percent(arm.accuracy.mean) for arm in document.study.arms}
    blocks: list[Block] = [
        Prose(pretraining_answer(document.study, catalog)),
        *_results("pretraining", arms, names, catalog),
        Prose(catalog("lab.study.baselines", tfidf=accuracy[TFIDF], majority=accuracy[MAJORITY])),
    ]
    return section("pretraining", catalog, blocks)


def pretraining_answer(study: StudyDocument, catalog: Catalog) -> str:
    """Return the answer to the study's first question, without its baselines."""
    alone = study.model_copy(
        update={
            "arms": _arms(study, (PRETRAINED, SCRATCH)),
            "comparisons": [_comparison(study, PRETRAINED, SCRATCH)],
        }
    )
    return verdict(alone, catalog).headline


def objectives_section(document: LabDocument, catalog: Catalog) -> Section:
    """Return question 5: two bases and, to see what each brought, the model from scratch."""
    causal, masked = document.causal_arm, document.masked_arm
    arms = _arms(document.study, (causal, masked, SCRATCH))
    names = {arm.name: arm_name(catalog, arm) for arm in arms}
    names[causal], names[masked] = catalog("lab.study.causal"), catalog("lab.study.masked")
    budget = budget_text(document.data.budget, catalog)
    blocks: list[Block] = [
        Prose(objectives_answer(document, catalog)),
        *_results("objectives", arms, names, catalog),
        Prose(catalog("lab.study.budget", budget=budget, ratio=catalog.percent(Masked().ratio, 0))),
        Prose(catalog("lab.study.whole")),
    ]
    return section("objectives", catalog, blocks)


def budget_text(budget: str, catalog: Catalog) -> str:
    """Return `800steps` or `10m` in words."""
    span = Span.parse(budget)
    if span.unit == "seconds":
        return catalog.duration(span.amount)
    return catalog.counted(span.amount, span.unit.removesuffix("s"))


def objectives_answer(document: LabDocument, catalog: Catalog) -> str:
    """Return which of causal and masked was better, or that the difference is not significant."""
    study = document.study
    causal, masked = _arms(study, (document.causal_arm, document.masked_arm))
    found = _comparison(study, masked.name, causal.name)
    # The study may hold the two in either order: here the difference is masked minus causal.
    sign = 1 if found.first == masked.name else -1
    difference = sign * found.difference.mean
    low, high = sorted((sign * found.difference.low, sign * found.difference.high))
    accuracy = {arm.name: catalog.percent(arm.accuracy.mean) for arm in (causal, masked)}
    if not found.is_significant:
        return catalog(
            "lab.answer.objectives_not_significant",
            causal=accuracy[causal.name],
            masked=accuracy[masked.name],
            difference=catalog.counted_points(difference, signed=True),
            interval=catalog.interval_points(low, high),
        )
    winner, loser = (masked, causal) if difference > 0 else (causal, masked)
    if difference < 0:
        low, high = -high, -low
    return catalog(
        "lab.answer.objectives_significant",
        winner=catalog("lab.answer.masked" if winner is masked else "lab.answer.causal"),
        difference=catalog.counted_points(abs(difference)),
        interval=catalog.interval_points(low, high),
        p=catalog.p_value(found.p_adjusted),
        first=accuracy[winner.name],
        second=accuracy[loser.name],
    )


# --- results --------------------------------------------------------------------------------------


def _results(
    name: str, arms: list[Arm], names: dict[str, str], catalog: Catalog
) -> list[Figure | Table]:
    """Return accuracy over the epochs, accuracy on the test part, and both as a table."""
    listed = catalog.listing(list(names.values()))
    # The second pretrained arm has the same style in all charts.
    kinds = {
        arm.name: arm.kind if arm.name in (PRETRAINED, SCRATCH) else f"{arm.kind}-2" for arm in arms
    }
    epochs_title = catalog("lab.study.epochs_title", names=listed)
    test_title = catalog("lab.study.test_title", names=listed)
    rows = [IntervalRow(names[arm.name], arm.accuracy, kinds[arm.name]) for arm in arms]
    seeds = TableBuilder(arms, catalog)
    seeds.text("arm", lambda arm: names[arm.name], lambda arm: arm.name)
    seeds.seeds(lambda arm: arm.accuracy.values)
    return [
        figure(
            "epochs",
            catalog,
            epochs_table(arms, names, catalog, epochs_title),
            partial(line_chart, epoch_series(arms, names, kinds)),
            ident=f"{name}-epochs",
            title=epochs_title,
        ),
        figure(
            "arms",
            catalog,
            seeds.build("seeds", test_title),
            partial(interval_chart, rows),
            ident=f"{name}-test",
            title=test_title,
        ),
        _table(name, arms, names, catalog),
    ]


def _table(name: str, arms: Sequence[Arm], names: dict[str, str], catalog: Catalog) -> Table:
    table = TableBuilder(arms, catalog)
    table.text("arm", lambda arm: names[arm.name], lambda arm: arm.name)
    table.percent("accuracy", lambda arm: arm.accuracy.mean)
    table.interval(lambda arm: bounds(arm.accuracy))
    table.count("pretraining_tokens", lambda arm: arm.cost.pretraining_tokens)
    return table.build(name, catalog("table.arms"))


def _arms(study: StudyDocument, names: Sequence[str]) -> list[Arm]:
    by_name = {arm.name: arm for arm in study.arms}
    return [by_name[name] for name in names]


def _comparison(study: StudyDocument, first: str, second: str) -> Comparison:
    return next(one for one in study.comparisons if {one.first, one.second} == {first, second})
