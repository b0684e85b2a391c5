"""The verdict of a study in plain words: what was shown, what was not, and what to use.

A difference is only called one where the study calls it shown. What a plain baseline does better
comes first. Knows words and figures, nothing of pages.
"""

from __future__ import annotations

from dataclasses import dataclass

from greffe.report.catalog import Catalog, load_catalog
from greffe.report.number_format import Language
from greffe.study.arms import ARMS
from greffe.study.document import Arm, Comparison, Saving, StudyDocument

LEVEL = 0.05


@dataclass(frozen=True)
class Verdict:
    """One headline, and what must be known beside it."""

    headline: str
    sentences: list[str]


def arm_name(catalog: Catalog, arm: Arm) -> str:
    """An arm's own name, or the usual one of its kind."""
    return catalog(ARMS[arm.kind].name_id()) if arm.name == arm.kind else arm.name


def arm_title(catalog: Catalog, arm: Arm) -> str:
    """An arm's name, said at length."""
    return catalog(ARMS[arm.kind].title_id()) if arm.name == arm.kind else arm.name


def verdict(document: StudyDocument, language: Language = "en") -> Verdict:
    """What a study found, the most important first."""
    catalog = load_catalog(language)
    arms = {arm.name: arm for arm in document.arms}
    if not document.comparisons:
        return Verdict(_best(catalog, document), _about_data(catalog, document, []))
    question = document.comparisons[0]
    pretrained, scratch = arms[question.first], arms[question.second]
    answer = _answer(catalog, question, pretrained, scratch)
    ahead, behind = _baselines(catalog, document, pretrained)
    found = [*ahead, answer, *behind]
    others = found[1:]
    if len(question.difference.values) == 1:
        others.append(catalog("verdict.one_seed"))
    others += _advice(catalog, document, pretrained)
    others += _labels(catalog, document, pretrained, scratch)
    others += _about_data(catalog, document, [pretrained, scratch])
    return Verdict(found[0], others)


# --- the question ---------------------------------------------------------------------------------


def _answer(catalog: Catalog, question: Comparison, pretrained: Arm, scratch: Arm) -> str:
    difference = question.difference
    places = {
        "difference": catalog.counted_points(difference.mean, signed=True),
        "interval": catalog.interval_points(difference.low, difference.high),
        "seeds": catalog.counted(len(difference.values), "seed"),
        "p": catalog.probability(question.p_adjusted),
        "first": catalog.percent(pretrained.accuracy.mean),
        "second": catalog.percent(scratch.accuracy.mean),
    }
    if question.is_significant and difference.mean > 0:
        gain = catalog.counted_points(difference.mean)
        return catalog("verdict.gain", **{**places, "gain": gain})
    if question.is_significant:
        loss = catalog.counted_points(-difference.mean)
        interval = catalog.interval_points(-difference.high, -difference.low)
        return catalog("verdict.loss", **{**places, "loss": loss, "interval": interval})
    # A single seed is judged by the test texts: its smallest p says nothing.
    if question.smallest_p >= LEVEL and len(difference.values) > 1:
        smallest = catalog.probability(question.smallest_p)
        return catalog("verdict.too_few_seeds", **{**places, "smallest": smallest})
    if difference.low > 0 or difference.high < 0:
        return catalog("verdict.interval_alone", **places)
    smallest = catalog.counted_points(question.smallest_detectable)
    return catalog("verdict.not_shown", **{**places, "smallest": smallest})


# --- beside it ------------------------------------------------------------------------------------


def _baselines(
    catalog: Catalog, document: StudyDocument, pretrained: Arm
) -> tuple[list[str], list[str]]:
    """Sentences about baselines that are ahead, the best first, and about those that are not."""
    baselines = [arm for arm in document.arms if ARMS[arm.kind].is_baseline]
    ranked = sorted(baselines, key=lambda arm: -arm.accuracy.mean)
    ahead = [arm for arm in ranked if arm.accuracy.mean > pretrained.accuracy.mean]
    behind = [arm for arm in ranked if arm not in ahead and not ARMS[arm.kind].is_constant]
    return (
        [_against(catalog, document, arm, pretrained, "ahead") for arm in ahead],
        [_against(catalog, document, arm, pretrained, "behind") for arm in behind],
    )


def _against(
    catalog: Catalog, document: StudyDocument, baseline: Arm, pretrained: Arm, place: str
) -> str:
    places = {
        "name": arm_title(catalog, baseline),
        "baseline": catalog.percent(baseline.accuracy.mean),
        "pretrained": catalog.percent(pretrained.accuracy.mean),
    }
    found = _compared(document, baseline, pretrained)
    if found is None:
        return catalog(f"verdict.{place}_untested", **places)
    # Seen from whoever is ahead.
    sign = 1 if place == "ahead" else -1
    low, high = sorted((sign * found[1], sign * found[2]))
    places["interval"] = catalog.interval_points(low, high)
    places["difference"] = catalog.counted_points(sign * found[0])
    return catalog(f"verdict.{place}_{'shown' if found[3] else 'not_shown'}", **places)


def _compared(
    document: StudyDocument, first: Arm, second: Arm
) -> tuple[float, float, float, bool] | None:
    """Mean, low and high of first minus second, and whether it is shown; none: not compared."""
    for comparison in document.comparisons:
        difference = comparison.difference
        if (comparison.first, comparison.second) == (first.name, second.name):
            return difference.mean, difference.low, difference.high, comparison.is_significant
        if (comparison.first, comparison.second) == (second.name, first.name):
            return -difference.mean, -difference.high, -difference.low, comparison.is_significant
    return None


def _advice(catalog: Catalog, document: StudyDocument, pretrained: Arm) -> list[str]:
    """What to use, where that is not the study's pretrained arm."""
    best = max(document.arms, key=lambda arm: arm.accuracy.mean)
    if best is pretrained or ARMS[best.kind].is_constant:
        return []
    sentences = [_best(catalog, document)]
    rivals = (arm for arm in document.arms if arm is not best)
    second = max(rivals, key=lambda arm: arm.accuracy.mean)
    found = _compared(document, best, second)
    if found is not None and not found[3]:
        sentences.append(catalog("verdict.lead_not_shown", second=arm_title(catalog, second)))
    return sentences


def _best(catalog: Catalog, document: StudyDocument) -> str:
    best = max(document.arms, key=lambda arm: arm.accuracy.mean)
    return catalog(
        "verdict.use",
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
    # Not the most flattering one: the largest that the other arm reached at all.
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
    most = catalog("verdict.beyond", most=catalog.number(saving.most))
    low = most if saving.low is None else catalog.rough(saving.low)
    if saving.equivalent is None:
        key = "verdict.saving_beyond" if saving.low is None else "verdict.saving_at_least"
        return catalog(key, labels=labels, most=catalog.number(saving.most), low=low)
    high = most if saving.high is None else catalog.rough(saving.high)
    is_significant = saving.low is None or saving.low > saving.labels
    equivalent = catalog.rough(saving.equivalent)
    return catalog(
        f"verdict.saving{'' if is_significant else '_not_shown'}",
        labels=labels,
        equivalent=catalog("verdict.at_most", labels=equivalent) if saving.is_floor else equivalent,
        interval=catalog.interval(low, high),
    )


def _about_data(catalog: Catalog, document: StudyDocument, arms: list[Arm]) -> list[str]:
    sentences = []
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
                "verdict.with_and_without",
                name=arm_name(catalog, arm),
                everywhere=catalog.percent(arm.accuracy_everywhere.mean),
                without=catalog.percent(arm.accuracy.mean),
            )
            for arm in arms
            if arm.accuracy_everywhere is not None
        ]
        if both:
            sentences.append(
                catalog("verdict.with_them", arms=catalog("verdict.between").join(both))
            )
    serious = sum(finding.severity == "serious" for finding in document.findings)
    if serious:
        sentences.append(
            catalog("verdict.serious", count=catalog.counted(serious, "serious_finding"))
        )
    return sentences
