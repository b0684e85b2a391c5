"""Tables of a study's results: arms, comparisons, curves, confusion, calibration, cost.

Knows the study document and catalogs, nothing of pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from greffe.report.catalog import Catalog
from greffe.report.report_table import Table, TableBuilder, bounds, cell
from greffe.report.verdict import arm_name, arm_names
from greffe.study.document import Arm, Comparison, EpochPoint, LabelPoint, Saving, StudyDocument

MOST_CLASSES = 20
"""In a confusion matrix: more cells cannot be read, and their table would be megabytes."""
MOST_CONFUSIONS = 15
"""Of each arm, where there are more classes."""
_Confusion = tuple[Arm, str, str, float, float]


def arms_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return the scores of every arm; with a column for all test texts if some were left out."""
    table = TableBuilder(document.arms, catalog)
    table.add(
        "arm",
        lambda arm: cell(arm_name(catalog, arm), arm.name, arm.kind),
        *("arm", "kind"),
        is_number=False,
    )
    table.percent("accuracy", lambda arm: arm.accuracy.mean)
    table.interval(lambda arm: bounds(arm.accuracy), prefix="accuracy_")
    table.interval(lambda arm: arm.accuracy.bootstrap, heading="bootstrap", prefix="bootstrap_")
    if any(arm.accuracy_everywhere for arm in document.arms):
        keys = ("accuracy_everywhere", "everywhere_low", "everywhere_high")
        none = cell(catalog("number.none"), None, None, None)
        table.add(
            "everywhere",
            lambda arm: (
                cell(catalog.percent(found.mean), found.mean, found.low, found.high)
                if (found := arm.accuracy_everywhere)
                else none
            ),
            *keys,
        )
    table.optional(
        "deviation", lambda arm: arm.accuracy.deviation, catalog.points, "accuracy_deviation"
    )
    table.percent("macro_f1", lambda arm: arm.macro_f1.mean)
    table.decimal("log_loss", lambda arm: arm.log_loss.mean, 3)
    table.percent("calibration_error", lambda arm: arm.calibration_error.mean)
    table.count("seeds", lambda arm: len(arm.seeds))
    return table.build("arms")


def arm_kinds_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return what each arm is, the run it starts from and, where an arm has some, feature runs."""
    table = TableBuilder(document.arms, catalog)
    _arm_column(table, catalog)
    table.text("arm_kind", lambda arm: catalog(f"arm_titles.{arm.kind}"), lambda arm: arm.kind)
    none = catalog("number.none")
    table.text("run", lambda arm: arm.run or none, lambda arm: arm.run)
    if any(arm.feature_runs for arm in document.arms):
        table.text(
            "feature_runs",
            lambda arm: ", ".join(arm.feature_runs) or none,
            lambda arm: ", ".join(arm.feature_runs) or None,
        )
    return table.build("arm_kinds")


def comparisons_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return one row per comparison: difference, tests, and what the study could have detected."""
    table = TableBuilder(document.comparisons, catalog)
    _difference_columns(table, document, catalog, "difference_")
    table.interval(
        lambda one: one.difference.bootstrap,
        heading="bootstrap",
        prefix="bootstrap_",
        write=partial(catalog.interval_points, signed=True),
    )
    table.p_value("p", lambda one: one.p)
    table.p_value("p_adjusted", lambda one: one.p_adjusted)
    table.add(
        "only_one",
        lambda one: cell(
            f"{catalog.number(one.mcnemar.only_first)} / {catalog.number(one.mcnemar.only_second)}",
            one.mcnemar.only_first,
            one.mcnemar.only_second,
        ),
        *("only_first", "only_second"),
    )
    table.p_value("mcnemar_p", lambda one: one.mcnemar.p)
    table.optional("smallest_detectable", lambda one: one.smallest_detectable, catalog.points)
    table.answer("is_significant", lambda one: one.is_significant)
    return table.build("comparisons")


def comparison_name(document: StudyDocument, catalog: Catalog, one: Comparison) -> str:
    """Return two arms and the sign between them."""
    names = arm_names(catalog, document)
    return catalog("comparison.name", first=names[one.first], second=names[one.second])


# --- curves ---------------------------------------------------------------------------------------


def seeds_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return the accuracy of every arm, seed by seed."""
    table = TableBuilder(document.arms, catalog)
    _arm_column(table, catalog)
    table.percent("accuracy", lambda arm: arm.accuracy.mean)
    table.interval(lambda arm: bounds(arm.accuracy))
    table.seeds(lambda arm: arm.accuracy.values)
    return table.build("seeds")


def differences_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return the differences between arms, seed by seed."""
    table = TableBuilder(document.comparisons, catalog)
    _difference_columns(table, document, catalog, "")
    table.seeds(lambda one: one.difference.values, signed=True)
    return table.build("differences")


def epochs_table(
    arms: list[Arm], names: dict[str, str], catalog: Catalog, title: str | None = None
) -> Table:
    """Return the validation accuracy after each evaluation, one row per arm and evaluation."""
    pairs: list[tuple[Arm, EpochPoint]] = [(arm, point) for arm in arms for point in arm.epochs]
    table = TableBuilder(pairs, catalog)
    table.text("arm", lambda pair: names[pair[0].name], lambda pair: pair[0].name)
    table.decimal("epoch", lambda pair: pair[1].epoch, 2)
    table.percent("accuracy", lambda pair: pair[1].mean)
    table.interval(lambda pair: (pair[1].low, pair[1].high))
    table.seeds(lambda pair: pair[1].values)
    return table.build("epochs", title)


def labels_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return the test accuracy, one row per arm and number of labels."""
    names = arm_names(catalog, document)
    points: list[LabelPoint] = document.label_curves.points if document.label_curves else []
    table = TableBuilder(points, catalog)
    table.text("arm", lambda one: names.get(one.arm, one.arm), lambda one: one.arm)
    table.count("labels", lambda one: one.labels)
    table.percent("accuracy", lambda one: one.accuracy.mean)
    table.interval(lambda one: bounds(one.accuracy))
    table.seeds(lambda one: one.accuracy.values)
    return table.build("labels")


def savings_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return how many labels of one arm reach what another arm reaches with so many."""
    names = arm_names(catalog, document)
    savings: list[Saving] = document.label_curves.savings if document.label_curves else []

    def labels(value: float | None, most: int) -> str:
        if value is None:
            return catalog("saving.beyond", most=catalog.number(most))
        return catalog.number(value)

    def equivalent(saving: Saving) -> str:
        shown = labels(saving.equivalent, saving.most)
        return catalog("saving.at_most", labels=shown) if saving.is_floor else shown

    def interval(one: Saving) -> str:
        return catalog.interval(labels(one.low, one.most), labels(one.high, one.most))

    table = TableBuilder(savings, catalog)
    table.text("arm", lambda one: names.get(one.arm, one.arm), lambda one: one.arm)
    table.count("labels", lambda one: one.labels)
    table.text("against", lambda one: names.get(one.against, one.against), lambda one: one.against)
    table.add("equivalent", lambda one: cell(equivalent(one), one.equivalent))
    table.add("interval", lambda one: cell(interval(one), one.low, one.high), "low", "high")
    return table.build("savings")


# --- predictions and cost -------------------------------------------------------------------------


def confusion_table(document: StudyDocument, catalog: Catalog, only: Arm | None = None) -> Table:
    """Return one row per true and predicted class, of one arm or of all.

    Of many classes, only pairs that occur.
    """
    is_large = has_many_classes(document)
    arms = [only] if only else document.arms
    rows = [one for arm in arms for one in _confusions(document, arm) if one[3] or not is_large]
    return _table_of_confusions("confusion", rows, catalog)


def frequent_confusions(document: StudyDocument, catalog: Catalog, arms: Sequence[Arm]) -> Table:
    """Return the wrong predictions that each of some arms makes most often."""
    rows: list[_Confusion] = []
    for arm in arms:
        wrong = [one for one in _confusions(document, arm) if one[1] != one[2] and one[3]]
        rows += sorted(wrong, key=lambda one: -one[3])[:MOST_CONFUSIONS]
    return _table_of_confusions("confusions", rows, catalog)


def has_many_classes(document: StudyDocument) -> bool:
    """Return whether there are too many classes for a matrix that can be read."""
    return len(document.data.labels) > MOST_CLASSES


def _confusions(document: StudyDocument, arm: Arm) -> list[_Confusion]:
    """Return true class, predicted class, count and fraction of the true class, for an arm."""
    labels = document.data.labels
    return [
        (arm, target, answer, count, count / max(sum(line), 1e-9))
        for target, line in zip(labels, arm.confusion, strict=bool(arm.confusion))
        for answer, count in zip(labels, line, strict=True)
    ]


def _table_of_confusions(name: str, rows: Sequence[_Confusion], catalog: Catalog) -> Table:
    table = TableBuilder(rows, catalog)
    table.text("arm", lambda one: arm_name(catalog, one[0]), lambda one: one[0].name)
    table.text("label", lambda one: one[1])
    table.text("prediction", lambda one: one[2])
    table.decimal("count", lambda one: one[3], 1)
    table.percent("fraction", lambda one: one[4])
    return table.build(name)


def calibration_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return one row per arm and confidence."""
    pairs = [(arm, one) for arm in document.arms for one in arm.calibration]
    table = TableBuilder(pairs, catalog)
    table.text("arm", lambda pair: arm_name(catalog, pair[0]), lambda pair: pair[0].name)
    table.percent("confidence", lambda pair: pair[1].confidence)
    table.percent("accuracy", lambda pair: pair[1].accuracy)
    table.count("texts", lambda pair: pair[1].count)
    return table.build("calibration")


def times_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return how long one training of each arm took."""
    table = TableBuilder(document.arms, catalog)
    _arm_column(table, catalog)
    table.optional("seconds", lambda arm: arm.cost.seconds, catalog.duration)
    return table.build("times", catalog("figure.cost.title"))


def cost_table(document: StudyDocument, catalog: Catalog) -> Table:
    """Return what one training of each arm took."""
    table = TableBuilder(document.arms, catalog)
    _arm_column(table, catalog)
    table.optional("seconds", lambda arm: arm.cost.seconds, catalog.duration)
    table.count("tokens", lambda arm: arm.cost.tokens or None)
    table.optional("memory_bytes", lambda arm: arm.cost.memory_bytes, catalog.memory)
    table.count("parameters", lambda arm: arm.cost.parameters)
    before = "pretraining_seconds"
    table.optional(before, lambda arm: arm.cost.pretraining_seconds, catalog.duration)
    table.count("pretraining_tokens", lambda arm: arm.cost.pretraining_tokens)
    return table.build("cost")


# --- columns that tables share --------------------------------------------------------------------


def _arm_column(table: TableBuilder[Arm], catalog: Catalog) -> None:
    table.text("arm", lambda arm: arm_name(catalog, arm), lambda arm: arm.name)


def _difference_columns(
    table: TableBuilder[Comparison], document: StudyDocument, catalog: Catalog, prefix: str
) -> None:
    signed_points = partial(catalog.points, signed=True)
    signed_interval = partial(catalog.interval_points, signed=True)
    table.add(
        "compared",
        lambda one: cell(comparison_name(document, catalog, one), one.first, one.second),
        *("first", "second"),
        is_number=False,
    )
    table.optional("difference", lambda one: one.difference.mean, signed_points)
    table.interval(lambda one: bounds(one.difference), prefix=prefix, write=signed_interval)
