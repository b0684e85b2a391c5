"""A study's results as tables for the terminal."""

from __future__ import annotations

from rich.table import Table

from greffe.cli.terminal_tables import new_table
from greffe.study.document import StudyDocument


def study_tables(document: StudyDocument) -> list[Table]:
    """Return tables of arms, comparisons and, if labels were varied, accuracy by labels."""
    tables = [_arms(document), _comparisons(document)]
    return tables if document.label_curves is None else [*tables, _labels(document)]


def _arms(document: StudyDocument) -> Table:
    data = document.data
    has_repeated = data.repeated > 0
    left_out = f", {data.repeated} that occur in other parts left out" if has_repeated else ""
    columns = ["arm", "accuracy", "95% interval", "± seeds", "macro F1", "log loss", "seeds"]
    columns += ["all test texts"] if has_repeated else []
    shown = new_table(f"Accuracy on {data.scored:,} test texts{left_out}", *columns)
    for arm in document.arms:
        cells = [
            arm.name,
            f"{arm.accuracy.mean:.1%}",
            f"{100 * arm.accuracy.low:.1f} to {100 * arm.accuracy.high:.1f}",
            "" if arm.accuracy.deviation is None else f"{100 * arm.accuracy.deviation:.1f}",
            f"{arm.macro_f1.mean:.3f}",
            f"{arm.log_loss.mean:.3f}",
            f"{len(arm.seeds)}",
        ]
        if arm.accuracy_everywhere is not None:
            cells.append(f"{arm.accuracy_everywhere.mean:.1%}")
        shown.add_row(*cells)
    return shown


def _comparisons(document: StudyDocument) -> Table:
    shown = new_table(
        "Differences in points, paired by seed and by text",
        *("comparison", "difference", "95% interval", "p", "adjusted", "McNemar p"),
        *("detectable", "significant"),
    )
    for comparison in document.comparisons:
        shown.add_row(
            f"{comparison.first} - {comparison.second}",
            f"{100 * comparison.difference.mean:+.1f}",
            f"{100 * comparison.difference.low:+.1f} to {100 * comparison.difference.high:+.1f}",
            f"{comparison.p:.3f}",
            f"{comparison.p_adjusted:.3f}",
            f"{comparison.mcnemar.p:.3f}",
            f"{100 * comparison.smallest_detectable:.1f}",
            "yes" if comparison.is_significant else "no",
        )
    return shown


def _labels(document: StudyDocument) -> Table:
    assert document.label_curves is not None
    points = document.label_curves.points
    counts = sorted({point.labels for point in points})
    shown = new_table("Accuracy by number of labels", "arm", *(f"{count:,}" for count in counts))
    for arm in document.arms:
        by_count = {point.labels: point.accuracy for point in points if point.arm == arm.name}
        shown.add_row(arm.name, *(f"{by_count[count].mean:.1%}" for count in counts))
    return shown
