"""The verdict: which claim each study leads to, with which numbers, and never more than that.

Sentences of the verdict are replaced by their ids and values, so that editing a text breaks
nothing here; the real sentences are checked for being complete in every language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import pytest
from tests.unit.report.parsed_page import echo_catalog

from greffe.evaluation.intervals import Estimate
from greffe.report.catalog import load_catalog
from greffe.report.number_format import Language
from greffe.report.verdict import verdict
from greffe.study.document import (
    Comparison,
    LabelCurves,
    RestartedCell,
    Saving,
    StudyDocument,
)

CLAIMS = ("verdict.", "saving.")
PARTS = (
    *("verdict.between", "verdict.one_arm_with_repeated", "verdict.cell"),
    *("saving.beyond", "saving.at_most"),
)


@dataclass(frozen=True)
class Claim:
    """The id of a sentence and the values that it was filled with."""

    id: str
    values: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.values[name]


def claims(document: StudyDocument, language: Language = "en") -> list[Claim]:
    """The claims of a verdict, the headline first, with ordinary spaces."""
    catalog = load_catalog(language)
    echoing = echo_catalog(catalog, lambda key: key.startswith(CLAIMS) and key not in PARTS)
    found = verdict(document, echoing)
    sentences = verdict(document, catalog)
    texts = [sentences.headline, *sentences.sentences]
    assert all(text.strip() and "{" not in text.replace("{best}", "") for text in texts)
    claims = []
    for text in [found.headline, *found.sentences]:
        key, *values = text.replace("\u00a0", " ").replace("\u202f", " ").split("\t")
        claims.append(Claim(key, dict(value.split("=", 1) for value in values)))
    return claims


def ids(document: StudyDocument) -> list[str]:
    """The ids of a verdict's claims, the same in every language."""
    by_language = [[one.id for one in claims(document, each)] for each in get_args(Language)]
    assert by_language[0] == by_language[1]
    return by_language[0]


def claim(document: StudyDocument, key: str, language: Language = "en") -> Claim:
    (found,) = (one for one in claims(document, language) if one.id == key)
    return found


def answered(study: StudyDocument, mean: float, half: float, **changes: Any) -> StudyDocument:
    """The study with another answer to its question."""
    values = changes.pop("values", [mean] * 8)
    difference = Estimate(
        mean=mean, deviation=0.01, low=mean - half, high=mean + half, values=values
    )
    question = study.comparisons[0].model_copy(update={"difference": difference, **changes})
    return study.model_copy(update={"comparisons": [question, *study.comparisons[1:]]})


def with_accuracy(study: StudyDocument, **means: float) -> StudyDocument:
    """The study with other mean accuracies."""
    arms = [
        arm.model_copy(
            update={"accuracy": arm.accuracy.model_copy(update={"mean": means[arm.name]})}
        )
        if arm.name in means
        else arm
        for arm in study.arms
    ]
    return study.model_copy(update={"arms": arms})


def with_labels(study: StudyDocument, *savings: Saving) -> StudyDocument:
    """The study with other savings and nothing extrapolated."""
    curves = LabelCurves(points=[], savings=list(savings), extrapolations=[])
    return study.model_copy(update={"label_curves": curves})


# --- the question ---------------------------------------------------------------------------------


def test_a_significant_gain(study: StudyDocument) -> None:
    first = claims(study)[0]
    assert first == Claim(
        "verdict.gain",
        {
            "gain": "6.2 points",
            "interval": "4.1 to 8.3",
            "seeds": "8 seeds",
            "p": "= 0.008",
            "first": "81.3%",
            "second": "75.1%",
        },
    )
    french = claims(study, "fr")[0]
    assert (french["gain"], french["p"], french["first"]) == ("6,2 points", "= 0,008", "81,3 %")


def test_a_significant_loss_is_told_as_a_positive_number(study: StudyDocument) -> None:
    lost = with_accuracy(answered(study, -0.03, 0.01), pretrained=0.801, scratch=0.831)
    first = next(one for one in claims(lost) if one.id == "verdict.loss")
    assert (first["loss"], first["interval"]) == ("3.0 points", "2.0 to 4.0")
    assert (first["first"], first["second"]) == ("80.1%", "83.1%")


def test_a_difference_that_is_not_significant(study: StudyDocument) -> None:
    even = answered(study, 0.008, 0.019, is_significant=False, p_adjusted=0.4)
    first = claims(even)[0]
    assert first.id == "verdict.not_significant"
    assert first["difference"] == "+0.8 points"
    assert first["interval"] == "−1.1 to +2.7"
    assert first["smallest"] == "2.5 points"
    assert claims(even, "fr")[0]["difference"] == "+0,8 point"


def test_an_interval_beside_zero_is_not_enough(study: StudyDocument) -> None:
    doubtful = answered(study, 0.03, 0.02, is_significant=False, p_adjusted=0.08)
    first = claims(doubtful)[0]
    assert first.id == "verdict.interval_alone"
    assert (first["interval"], first["seeds"], first["p"]) == ("1.0 to 5.0", "8 seeds", "= 0.080")


def test_too_few_seeds_for_any_test(study: StudyDocument) -> None:
    few = answered(study, 0.06, 0.02, is_significant=False, smallest_p=0.125, values=[0.06] * 4)
    first = claims(few)[0]
    assert first.id == "verdict.too_few_seeds"
    assert (first["seeds"], first["smallest"]) == ("4 seeds", "= 0.12")


def test_one_seed_is_judged_by_its_texts_and_says_so(study: StudyDocument) -> None:
    one = answered(study, 0.06, 0.02, smallest_p=1.0, values=[0.06])
    assert claims(one)[0].id == "verdict.gain"
    assert claims(one)[0]["seeds"] == "1 seed"
    assert "verdict.one_seed" in ids(one)
    assert "verdict.one_seed" not in ids(study)


# --- baselines and advice -------------------------------------------------------------------------


def _against_tfidf(
    study: StudyDocument, mean: float, half: float, is_significant: bool
) -> Comparison:
    difference = Estimate(mean=mean, deviation=0.01, low=mean - half, high=mean + half, values=[0])
    changed = {"difference": difference, "is_significant": is_significant}
    return study.comparisons[1].model_copy(update=changed)


@pytest.mark.parametrize(
    ("is_significant", "half", "interval"),
    [(True, 0.016, "2.1 to 5.3"), (False, 0.05, "−1.3 to +8.7")],
)
def test_a_better_baseline_comes_first(
    study: StudyDocument, is_significant: bool, half: float, interval: str
) -> None:
    against = _against_tfidf(study, -0.037, half, is_significant)
    better = with_accuracy(study, tfidf=0.85).model_copy(
        update={"comparisons": [study.comparisons[0], against]}
    )
    outcome = "significant" if is_significant else "not_significant"
    assert ids(better)[:2] == [f"verdict.ahead_{outcome}", "verdict.gain"]
    first = claims(better)[0]
    assert first["name"] == load_catalog("en")("arm_titles.tfidf")
    assert (first["baseline"], first["pretrained"]) == ("85.0%", "81.3%")
    assert (first["difference"], first["interval"]) == ("3.7 points", interval)


def test_an_untested_baseline_that_is_ahead(study: StudyDocument) -> None:
    better = with_accuracy(study, tfidf=0.85).model_copy(
        update={"comparisons": study.comparisons[:1]}
    )
    assert ids(better)[0] == "verdict.ahead_untested"


def test_the_majority_class_ahead_comes_first(study: StudyDocument) -> None:
    useless = claims(with_accuracy(study, majority=0.9))[0]
    assert useless.id == "verdict.ahead_untested"
    assert useless["name"] == load_catalog("en")("arm_titles.majority")


def test_a_baseline_behind(study: StudyDocument) -> None:
    second = claims(study)[1]
    assert second.id == "verdict.behind_not_significant"
    assert (second["difference"], second["interval"]) == ("1.7 points", "−0.5 to +3.9")
    comparisons = [study.comparisons[0], _against_tfidf(study, 0.017, 0.01, True)]
    second = claims(study.model_copy(update={"comparisons": comparisons}))[1]
    assert second.id == "verdict.behind_significant"
    assert (second["difference"], second["interval"]) == ("1.7 points", "0.7 to 2.7")
    untested = study.model_copy(update={"comparisons": study.comparisons[:1]})
    assert ids(untested)[1] == "verdict.behind_untested"


def test_the_best_model_is_named_unless_it_is_the_pretrained_one(study: StudyDocument) -> None:
    best = claim(study, "verdict.best")
    assert best["name"] == load_catalog("en")("arm_titles.stacked")
    assert best["accuracy"] == "84.2%"
    assert "verdict.lead_not_significant" not in ids(study)
    assert "verdict.best" not in ids(with_accuracy(study, pretrained=0.9))


def test_a_lead_that_is_not_significant_is_called_so(study: StudyDocument) -> None:
    last = study.comparisons[-1].model_copy(update={"is_significant": False})
    doubtful = study.model_copy(update={"comparisons": [*study.comparisons[:-1], last]})
    lead = claim(doubtful, "verdict.lead_not_significant")
    assert lead["second"] == load_catalog("en")("arm_titles.pretrained")


def test_without_comparisons_the_best_arm_is_named(study: StudyDocument) -> None:
    assert ids(study.model_copy(update={"comparisons": []}))[0] == "verdict.best"


def test_an_arm_with_a_name_of_its_own_keeps_it(study: StudyDocument) -> None:
    arms = [
        arm.model_copy(update={"name": "my {best} <arm>"}) if arm.name == "stacked" else arm
        for arm in study.arms
    ]
    named = study.model_copy(update={"arms": arms, "comparisons": study.comparisons[:2]})
    assert claim(named, "verdict.best")["name"] == "my {best} <arm>"


@pytest.mark.parametrize("kind", ["stacked+runs", "ensemble"])
def test_a_further_arm_that_is_best(
    kind: str, stacked_runs_study: StudyDocument, ensemble_study: StudyDocument
) -> None:
    document = {"stacked+runs": stacked_runs_study, "ensemble": ensemble_study}[kind]
    best = claim(document, "verdict.best", "fr")
    assert best["name"] == load_catalog("fr")(f"arm_titles.{kind}")
    assert "verdict.lead_not_significant" not in ids(document)


# --- labels ---------------------------------------------------------------------------------------


def _saving(**changes: Any) -> Saving:
    usual = {"arm": "pretrained", "labels": 200, "against": "scratch", "most": 1600}
    return Saving(**{**usual, "equivalent": 812.4, "low": 500.0, "high": 1400.0, **changes})


def test_savings_and_what_more_labels_would_bring(study: StudyDocument) -> None:
    saving = claim(study, "saving.significant")
    assert (saving["labels"], saving["equivalent"]) == ("200 labels", "810")
    assert saving["interval"] == "500 to 1,400"
    assert claim(study, "saving.significant", "fr")["interval"] == "de 500 à 1 400"
    more = claim(study, "verdict.more")
    assert more.values == {"more": "200", "gain": "1.1 points", "interval": "0.2 to 2.3"}


@pytest.mark.parametrize(
    ("saving", "key", "values"),
    [
        (_saving(high=None), "significant", {"interval": "500 to more than 1,600"}),
        (_saving(is_floor=True), "significant", {"equivalent": "at most 810"}),
        (_saving(low=150.0), "not_significant", {"interval": "150 to 1,400"}),
        (_saving(equivalent=None, low=None, high=None), "beyond_measured", {"most": "1,600"}),
        (_saving(equivalent=None, low=900.0, high=None), "at_least", {"low": "900"}),
    ],
)
def test_every_kind_of_saving(
    study: StudyDocument, saving: Saving, key: str, values: dict[str, str]
) -> None:
    changed = with_labels(study, saving)
    assert sum(one.startswith("saving.") for one in ids(changed)) == 1
    found = claim(changed, f"saving.{key}")
    assert {name: found[name] for name in values} == values


def test_the_saving_that_is_told_is_not_the_largest(study: StudyDocument) -> None:
    small, large = _saving(labels=50, equivalent=1000.0), _saving(labels=400, equivalent=900.0)
    found = claim(with_labels(study, small, large), "saving.significant")
    assert (found["labels"], found["equivalent"]) == ("400 labels", "900")


def test_savings_against_other_arms_are_left_to_the_table(study: StudyDocument) -> None:
    changed = with_labels(study, _saving(against="tfidf"))
    assert not any(one.startswith("saving.") for one in ids(changed))


# --- the data -------------------------------------------------------------------------------------


def test_repeated_texts_are_told_with_and_without(study: StudyDocument) -> None:
    assert claim(study, "verdict.repeated").values == {"repeated": "54", "total": "2,000"}
    both = claim(study, "verdict.with_repeated")["arms"]
    positions = [both.index(figure) for figure in ("81.9%", "81.3%", "75.7%", "75.1%")]
    assert positions == sorted(positions)


def test_serious_findings_come_last(study: StudyDocument) -> None:
    last = claims(study)[-1]
    assert (last.id, last["found"]) == ("verdict.serious", "1 serious finding")


def test_a_clean_study_says_nothing_of_data_and_labels(bare_study: StudyDocument) -> None:
    assert ids(bare_study) == ["verdict.gain"]


# --- restarts -------------------------------------------------------------------------------------


def test_trainings_that_collapsed_are_told_first(study: StudyDocument) -> None:
    cells = [
        RestartedCell(arm="scratch", labels=1600, seed=2, restarts=1, lr=1 / 6000),
        RestartedCell(arm="scratch", labels=1600, seed=5, restarts=2, lr=5.6e-5, collapsed=1),
        RestartedCell(arm="pretrained", labels=100, seed=0, restarts=1, lr=1e-3),
    ]
    told = study.model_copy(update={"restarts": cells})
    assert ids(told)[:2] == [ids(study)[0], "verdict.collapsed"]
    assert ids(told).count("verdict.restarted") == 1
    collapsed, restarted = claim(told, "verdict.collapsed"), claim(told, "verdict.restarted")
    assert collapsed["cells"] == "from scratch, 1,600 labels, seed 5 (rate 0.000056)"
    assert restarted["cells"] == (
        "from scratch, 1,600 labels, seed 2 (rate 0.00017); "
        "pretrained, 100 labels, seed 0 (rate 0.001)"
    )
    french = claim(told, "verdict.collapsed", "fr")["cells"]
    assert french == "à partir de zéro, 1 600 étiquettes, graine 5 (taux 0,000056)"
    assert not {"verdict.collapsed", "verdict.restarted"} & set(ids(study))
