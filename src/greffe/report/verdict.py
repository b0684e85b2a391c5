"""The verdict of a study in plain words: what was shown, what was not, and what to use.

A difference is only called one where the study calls it shown. What a plain baseline does better
comes first. Knows words and figures, nothing of pages.
"""

from __future__ import annotations

from dataclasses import dataclass

from greffe.report.numbers import Language
from greffe.report.words import Words, load_words
from greffe.study.document import Arm, Comparison, Saving, StudyDocument

LEVEL = 0.05
BASELINES = ("tfidf", "majority")


@dataclass(frozen=True)
class Verdict:
    """One headline, and what must be known beside it."""

    headline: str
    sentences: list[str]


def arm_name(words: Words, arm: Arm) -> str:
    """An arm's own name, or the usual one of its kind."""
    return words(f"arms.{arm.kind}") if arm.name == arm.kind else arm.name


def arm_title(words: Words, arm: Arm) -> str:
    """An arm's name, said at length."""
    return words(f"arm_titles.{arm.kind}") if arm.name == arm.kind else arm.name


def verdict(document: StudyDocument, language: Language = "en") -> Verdict:
    """What a study found, the most important first."""
    words = load_words(language)
    arms = {arm.name: arm for arm in document.arms}
    if not document.comparisons:
        return Verdict(_best(words, document), _about_data(words, document, []))
    question = document.comparisons[0]
    pretrained, scratch = arms[question.first], arms[question.second]
    answer = _answer(words, question, pretrained, scratch)
    ahead, behind = _baselines(words, document, pretrained)
    found = [*ahead, answer, *behind]
    others = found[1:]
    if len(question.difference.values) == 1:
        others.append(words("verdict.one_seed"))
    others += _advice(words, document, pretrained)
    others += _labels(words, document, pretrained, scratch)
    others += _about_data(words, document, [pretrained, scratch])
    return Verdict(found[0], others)


# --- the question ---------------------------------------------------------------------------------


def _answer(words: Words, question: Comparison, pretrained: Arm, scratch: Arm) -> str:
    difference = question.difference
    places = {
        "difference": words.counted_points(difference.mean, signed=True),
        "interval": words.interval_points(difference.low, difference.high),
        "seeds": words.counted(len(difference.values), "seed"),
        "p": words.probability(question.p_adjusted),
        "first": words.percent(pretrained.accuracy.mean),
        "second": words.percent(scratch.accuracy.mean),
    }
    if question.is_shown and difference.mean > 0:
        gain = words.counted_points(difference.mean)
        return words("verdict.gain", **{**places, "gain": gain})
    if question.is_shown:
        loss = words.counted_points(-difference.mean)
        interval = words.interval_points(-difference.high, -difference.low)
        return words("verdict.loss", **{**places, "loss": loss, "interval": interval})
    # A single seed is judged by the test texts: its smallest p says nothing.
    if question.smallest_p >= LEVEL and len(difference.values) > 1:
        smallest = words.probability(question.smallest_p)
        return words("verdict.too_few_seeds", **{**places, "smallest": smallest})
    if difference.low > 0 or difference.high < 0:
        return words("verdict.interval_alone", **places)
    smallest = words.counted_points(question.smallest_detectable)
    return words("verdict.not_shown", **{**places, "smallest": smallest})


# --- beside it ------------------------------------------------------------------------------------


def _baselines(
    words: Words, document: StudyDocument, pretrained: Arm
) -> tuple[list[str], list[str]]:
    """Sentences about baselines that are ahead, the best first, and about those that are not."""
    baselines = [arm for arm in document.arms if arm.kind in BASELINES]
    ranked = sorted(baselines, key=lambda arm: -arm.accuracy.mean)
    ahead = [arm for arm in ranked if arm.accuracy.mean > pretrained.accuracy.mean]
    behind = [arm for arm in ranked if arm not in ahead and arm.kind != "majority"]
    return (
        [_against(words, document, arm, pretrained, "ahead") for arm in ahead],
        [_against(words, document, arm, pretrained, "behind") for arm in behind],
    )


def _against(
    words: Words, document: StudyDocument, baseline: Arm, pretrained: Arm, place: str
) -> str:
    places = {
        "name": arm_title(words, baseline),
        "baseline": words.percent(baseline.accuracy.mean),
        "pretrained": words.percent(pretrained.accuracy.mean),
    }
    found = _compared(document, baseline, pretrained)
    if found is None:
        return words(f"verdict.{place}_untested", **places)
    # Seen from whoever is ahead.
    sign = 1 if place == "ahead" else -1
    low, high = sorted((sign * found[1], sign * found[2]))
    places["interval"] = words.interval_points(low, high)
    places["difference"] = words.counted_points(sign * found[0])
    return words(f"verdict.{place}_{'shown' if found[3] else 'not_shown'}", **places)


def _compared(
    document: StudyDocument, first: Arm, second: Arm
) -> tuple[float, float, float, bool] | None:
    """Mean, low and high of first minus second, and whether it is shown; none: not compared."""
    for comparison in document.comparisons:
        difference = comparison.difference
        if (comparison.first, comparison.second) == (first.name, second.name):
            return difference.mean, difference.low, difference.high, comparison.is_shown
        if (comparison.first, comparison.second) == (second.name, first.name):
            return -difference.mean, -difference.high, -difference.low, comparison.is_shown
    return None


def _advice(words: Words, document: StudyDocument, pretrained: Arm) -> list[str]:
    """What to use, where that is not the study's pretrained arm."""
    best = max(document.arms, key=lambda arm: arm.accuracy.mean)
    if best is pretrained or best.kind == "majority":
        return []
    sentences = [_best(words, document)]
    rivals = (arm for arm in document.arms if arm is not best)
    second = max(rivals, key=lambda arm: arm.accuracy.mean)
    found = _compared(document, best, second)
    if found is not None and not found[3]:
        sentences.append(words("verdict.lead_not_shown", second=arm_title(words, second)))
    return sentences


def _best(words: Words, document: StudyDocument) -> str:
    best = max(document.arms, key=lambda arm: arm.accuracy.mean)
    return words(
        "verdict.use",
        name=arm_title(words, best),
        accuracy=words.percent(best.accuracy.mean),
        interval=words.interval_percent(best.accuracy.low, best.accuracy.high),
    )


def _labels(words: Words, document: StudyDocument, pretrained: Arm, scratch: Arm) -> list[str]:
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
    sentences = [_saving(words, chosen)] if chosen else []
    for more in curves.extrapolations:
        if more.arm == pretrained.name:
            gain = words.counted_points(more.gain)
            interval = words.interval_points(more.low, more.high)
            labels = words.number(more.more)
            sentences.append(words("verdict.more", more=labels, gain=gain, interval=interval))
    return sentences


def _saving(words: Words, saving: Saving) -> str:
    labels = words.counted(saving.labels, "label")
    most = words("verdict.beyond", most=words.number(saving.most))
    low = most if saving.low is None else words.rough(saving.low)
    if saving.equivalent is None:
        key = "verdict.saving_beyond" if saving.low is None else "verdict.saving_at_least"
        return words(key, labels=labels, most=words.number(saving.most), low=low)
    high = most if saving.high is None else words.rough(saving.high)
    is_shown = saving.low is None or saving.low > saving.labels
    equivalent = words.rough(saving.equivalent)
    return words(
        f"verdict.saving{'' if is_shown else '_not_shown'}",
        labels=labels,
        equivalent=words("verdict.at_most", labels=equivalent) if saving.is_floor else equivalent,
        interval=words.interval(low, high),
    )


def _about_data(words: Words, document: StudyDocument, arms: list[Arm]) -> list[str]:
    sentences = []
    if document.data.repeated:
        total = sum(part.texts for part in document.data.parts if part.name == "test")
        sentences.append(
            words(
                "verdict.repeated",
                repeated=words.number(document.data.repeated),
                total=words.number(total),
            )
        )
        both = [
            words(
                "verdict.with_and_without",
                name=arm_name(words, arm),
                everywhere=words.percent(arm.accuracy_everywhere.mean),
                without=words.percent(arm.accuracy.mean),
            )
            for arm in arms
            if arm.accuracy_everywhere is not None
        ]
        if both:
            sentences.append(words("verdict.with_them", arms=words("verdict.between").join(both)))
    serious = sum(finding.severity == "serious" for finding in document.findings)
    if serious:
        sentences.append(words("verdict.serious", count=words.counted(serious, "serious_finding")))
    return sentences
