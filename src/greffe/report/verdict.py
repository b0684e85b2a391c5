"""The verdict of a study: what pretraining was worth, how baselines compare, what to use.

A difference is reported as one only where the study calls it significant. A baseline that beats the
pretrained model comes first. Knows documents and catalogs, nothing of pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from greffe.report.catalog import Catalog
from greffe.study.arms import ARMS
from greffe.study.document import Arm, Comparison, RestartedCell, Saving, StudyDocument

LEVEL = 0.05


@dataclass(frozen=True)
class Verdict:
    """One headline, and what a reader must know beside it."""

    headline: str
    sentences: list[str]


def arm_name(catalog: Catalog, arm: Arm) -> str:
    """Return an arm's own name, or the usual one of its kind."""
    return catalog(f"arms.{arm.kind}") if arm.name == arm.kind else arm.name


def arm_title(catalog: Catalog, arm: Arm) -> str:
    """Return an arm's own name, or a description of its kind."""
    return catalog(f"arm_titles.{arm.kind}") if arm.name == arm.kind else arm.name


def arm_names(catalog: Catalog, document: StudyDocument) -> dict[str, str]:
    """Return the names that a reader sees, by the arms' own."""
    return {arm.name: arm_name(catalog, arm) for arm in document.arms}


def verdict(document: StudyDocument, catalog: Catalog) -> Verdict:
    """Return what a study found, the most important first."""
    arms = {arm.name: arm for arm in document.arms}
    if not document.comparisons:
        collapsed = _restarts(catalog, document, "collapsed")
        return Verdict(_best(catalog, document), [*collapsed, *_about_data(catalog, document, [])])
    question = document.comparisons[0]
    pretrained, scratch = arms[question.first], arms[question.second]
    answer = _answer(catalog, question, pretrained, scratch)
    ahead, behind = _baselines(catalog, document, pretrained)
    found = [*ahead, answer, *behind]
    # A collapsed opponent makes the headline worthless.
    others = [*_restarts(catalog, document, "collapsed"), *found[1:]]
    if len(question.difference.values) == 1:
        others.append(catalog("verdict.one_seed"))
    others += _advice(catalog, document, pretrained)
    others += _labels(catalog, document, pretrained, scratch)
    others += _about_data(catalog, document, [pretrained, scratch])
    return Verdict(found[0], others)


# --- the question ---------------------------------------------------------------------------------


def _answer(catalog: Catalog, question: Comparison, pretrained: Arm, scratch: Arm) -> str:
    difference = question.difference
    values = {
        "difference": catalog.counted_points(difference.mean, signed=True),
        "interval": catalog.interval_points(difference.low, difference.high),
        "seeds": catalog.counted(len(difference.values), "seed"),
        "p": catalog.p_value(question.p_adjusted),
        "first": catalog.percent(pretrained.accuracy.mean),
        "second": catalog.percent(scratch.accuracy.mean),
    }
    if question.is_significant and difference.mean > 0:
        gain = catalog.counted_points(difference.mean)
        return catalog("verdict.gain", **{**values, "gain": gain})
    if question.is_significant:
        loss = catalog.counted_points(-difference.mean)
        interval = catalog.interval_points(-difference.high, -difference.low)
        return catalog("verdict.loss", **{**values, "loss": loss, "interval": interval})
    # A single seed is judged by the test texts, so its smallest p is meaningless.
    if question.smallest_p >= LEVEL and len(difference.values) > 1:
        smallest = catalog.p_value(question.smallest_p)
        return catalog("verdict.too_few_seeds", **{**values, "smallest": smallest})
    if difference.low > 0 or difference.high < 0:
        return catalog("verdict.interval_alone", **values)
    smallest = catalog.counted_points(question.smallest_detectable)
    return catalog("verdict.not_significant", **{**values, "smallest": smallest})


# --- beside it ------------------------------------------------------------------------------------


def _baselines(
    catalog: Catalog, document: StudyDocument, pretrained: Arm
) -> tuple[list[str], list[str]]:
    """Return sentences about baselines that are ahead, best first, and about the others."""
    baselines = [arm for arm in document.arms if ARMS[arm.kind].is_baseline]
    ranked = sorted(baselines, key=lambda arm: -arm.accuracy.mean)
    ahead = [arm for arm in ranked if arm.accuracy.mean > pretrained.accuracy.mean]
    behind = [arm for arm in ranked if arm not in ahead and not ARMS[arm.kind].is_constant]
    return (
        [_against(catalog, document, arm, pretrained, "ahead") for arm in ahead],
        [_against(catalog, document, arm, pretrained, "behind") for arm in behind],
    )


def _against(
    catalog: Catalog, document: StudyDocument, baseline: Arm, pretrained: Arm, side: str
) -> str:
    values = {
        "name": arm_title(catalog, baseline),
        "baseline": catalog.percent(baseline.accuracy.mean),
        "pretrained": catalog.percent(pretrained.accuracy.mean),
    }
    found = _compared(document, baseline, pretrained)
    if found is None:
        return catalog(f"verdict.{side}_untested", **values)
    # The difference is that of the better one.
    sign = 1 if side == "ahead" else -1
    low, high = sorted((sign * found[1], sign * found[2]))
    values["interval"] = catalog.interval_points(low, high)
    values["difference"] = catalog.counted_points(sign * found[0])
    outcome = "significant" if found[3] else "not_significant"
    return catalog(f"verdict.{side}_{outcome}", **values)


def _compared(
    document: StudyDocument, first: Arm, second: Arm
) -> tuple[float, float, float, bool] | None:
    """Return mean, low and high of first minus second and its significance, if compared."""
    for comparison in document.comparisons:
        difference = comparison.difference
        if (comparison.first, comparison.second) == (first.name, second.name):
            return difference.mean, difference.low, difference.high, comparison.is_significant
        if (comparison.first, comparison.second) == (second.name, first.name):
            return -difference.mean, -difference.high, -difference.low, comparison.is_significant
    return None


def _restarts(
    catalog: Catalog, document: StudyDocument, kind: Literal["restarted", "collapsed"]
) -> list[str]:
    """Return which trainings were restarted with success, or collapsed even so."""
    cells = [
        _cell(catalog, document, one)
        for one in document.restarts
        if (one.collapsed > 0) == (kind == "collapsed")
    ]
    return [catalog(f"verdict.{kind}", cells=catalog("verdict.between").join(cells))] * bool(cells)


def _cell(catalog: Catalog, document: StudyDocument, cell: RestartedCell) -> str:
    return catalog(
        "verdict.cell",
        name=arm_names(catalog, document)[cell.arm],
        labels=catalog.counted(cell.labels, "label"),
        seed=cell.seed,
        lr=catalog.shortest(float(f"{cell.lr:.2g}")),
    )


def _advice(catalog: Catalog, document: StudyDocument, pretrained: Arm) -> list[str]:
    """Return what to use, where that is not the study's pretrained arm."""
    best = max(document.arms, key=lambda arm: arm.accuracy.mean)
    if best is pretrained or ARMS[best.kind].is_constant:
        return []
    sentences = [_best(catalog, document)]
    rivals = (arm for arm in document.arms if arm is not best)
    second = max(rivals, key=lambda arm: arm.accuracy.mean)
    found = _compared(document, best, second)
    if found is not None and not found[3]:
        sentences.append(catalog("verdict.lead_not_significant", second=arm_title(catalog, second)))
    return sentences


def _best(catalog: Catalog, document: StudyDocument) -> str:
    best = max(document.arms, key=lambda arm: arm.accuracy.mean)
    return catalog(
        "verdict.best",
        name=arm_title(catalog, best),
        accuracy=catalog.percent(best.accuracy.mean),
        interval=catalog.interval_percent(best.accuracy.low, best.accuracy.high),
    )


def _labels(catalog: Catalog, document: StudyDocument, pretrained: Arm, scratch: Arm) -> list[str]:
    curves = document.label_curves
    if curves is None:
        return []
    savings = [
        saving
        for saving in curves.savings
        if (saving.arm, saving.against) == (pretrained.name, scratch.name)
    ]
    # Not the largest saving: the one with the most labels that the other arm reached at all.
    reached = [saving for saving in savings if saving.equivalent is not None]
    chosen = max(reached, key=lambda saving: saving.labels, default=None) or min(
        savings, key=lambda saving: saving.labels, default=None
    )
    sentences = [_saving(catalog, chosen)] if chosen else []
    for more in curves.extrapolations:
        if more.arm == pretrained.name:
            gain = catalog.counted_points(more.gain)
            interval = catalog.interval_points(more.low, more.high)
            labels = catalog.number(more.more)
            sentences.append(catalog("verdict.more", more=labels, gain=gain, interval=interval))
    return sentences


def _saving(catalog: Catalog, saving: Saving) -> str:
    labels = catalog.counted(saving.labels, "label")
    most = catalog("saving.beyond", most=catalog.number(saving.most))
    low = most if saving.low is None else catalog.rough(saving.low)
    if saving.equivalent is None:
        key = "saving.beyond_measured" if saving.low is None else "saving.at_least"
        return catalog(key, labels=labels, most=catalog.number(saving.most), low=low)
    high = most if saving.high is None else catalog.rough(saving.high)
    is_significant = saving.low is None or saving.low > saving.labels
    equivalent = catalog.rough(saving.equivalent)
    return catalog(
        f"saving.{'significant' if is_significant else 'not_significant'}",
        labels=labels,
        equivalent=catalog("saving.at_most", labels=equivalent) if saving.is_floor else equivalent,
        interval=catalog.interval(low, high),
    )


def _about_data(catalog: Catalog, document: StudyDocument, arms: list[Arm]) -> list[str]:
    sentences = _restarts(catalog, document, "restarted")
    if document.data.repeated:
        total = sum(part.texts for part in document.data.parts if part.name == "test")
        sentences.append(
            catalog(
                "verdict.repeated",
                repeated=catalog.number(document.data.repeated),
                total=catalog.number(total),
            )
        )
        both = [
            catalog(
                "verdict.one_arm_with_repeated",
                name=arm_name(catalog, arm),
                everywhere=catalog.percent(arm.accuracy_everywhere.mean),
                without=catalog.percent(arm.accuracy.mean),
            )
            for arm in arms
            if arm.accuracy_everywhere is not None
        ]
        if both:
            sentences.append(
                catalog("verdict.with_repeated", arms=catalog("verdict.between").join(both))
            )
    serious = sum(finding.severity == "serious" for finding in document.findings)
    if serious:
        found = catalog.counted(serious, "serious_finding")
        sentences.append(catalog("verdict.serious", found=found))
    return sentences
