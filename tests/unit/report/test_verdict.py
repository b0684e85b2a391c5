"""The verdict: every branch in both languages, and never more than the study shows."""

from __future__ import annotations

from typing import Any

import pytest

from greffe.evaluation.intervals import Estimate
from greffe.report.number_format import Language
from greffe.report.verdict import Verdict, verdict
from greffe.study.document import Comparison, LabelCurves, Saving, StudyDocument


def said(document: StudyDocument, language: Language = "en") -> Verdict:
    """The verdict with ordinary spaces, to be compared with typed text."""
    found = verdict(document, language)

    def plain(text: str) -> str:
        return text.replace("\u00a0", " ").replace("\u202f", " ")

    return Verdict(plain(found.headline), [plain(sentence) for sentence in found.sentences])


def answered(study: StudyDocument, mean: float, half: float, **changes: Any) -> StudyDocument:
    """The study with another answer to its question, and no baseline in the way."""
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


def test_a_gain_that_is_shown(study: StudyDocument) -> None:
    assert said(study).headline == (
        "Pretraining was worth 6.2 points of accuracy (95 % interval 4.1 to 8.3; 8 seeds, "
        "p = 0.008): 81.3 % instead of 75.1 % from scratch."
    )
    assert said(study, "fr").headline == (
        "Le préentraînement a rapporté 6,2 points d’exactitude (intervalle à 95 % : de 4,1 à 8,3 ; "
        "8 graines, p = 0,008) : 81,3 % au lieu de 75,1 % à partir de zéro."
    )


def test_a_loss_that_is_shown(study: StudyDocument) -> None:
    lost = with_accuracy(answered(study, -0.03, 0.01), pretrained=0.801, scratch=0.831)
    assert said(lost).headline == (
        "Pretraining cost 3.0 points of accuracy (95 % interval 2.0 to 4.0; 8 seeds, p = 0.008): "
        "80.1 % instead of 83.1 % from scratch."
    )
    assert "a coûté 3,0 points" in said(lost, "fr").headline


def test_no_difference_shown(study: StudyDocument) -> None:
    even = answered(study, 0.008, 0.019, is_significant=False, p_adjusted=0.4)
    assert said(even).headline == (
        "No difference was shown: +0.8 points (−1.1 to +2.7), 81.3 % with pretraining and 75.1 % "
        "from scratch. This study would have shown 2.5 points or more, four times out of five."
    )
    assert said(even, "fr").headline.startswith(
        "Aucune différence n’est montrée : +0,8 point (de −1,1 à +2,7)"
    )


def test_an_interval_beside_zero_is_not_enough(study: StudyDocument) -> None:
    doubtful = answered(study, 0.03, 0.02, is_significant=False, p_adjusted=0.08)
    headline = said(doubtful).headline
    assert headline.startswith("No difference was shown: +3.0 points (1.0 to 5.0)")
    assert "the test over 8 seeds does not agree (p = 0.080)" in headline
    assert "ne le confirme pas (p = 0,080)" in said(doubtful, "fr").headline


def test_too_few_seeds_for_any_test(study: StudyDocument) -> None:
    few = answered(study, 0.06, 0.02, is_significant=False, smallest_p=0.125, values=[0.06] * 4)
    assert said(few).headline.startswith("With 4 seeds no test can reach 5 % (at best p = 0.12):")
    assert "four times out of five" not in said(few).headline
    assert said(few, "fr").headline.startswith("Avec 4 graines, aucun test ne peut atteindre 5 %")


def test_one_seed_is_judged_by_its_texts_and_says_so(study: StudyDocument) -> None:
    one = answered(study, 0.06, 0.02, smallest_p=1.0, values=[0.06])
    assert said(one).headline.startswith("Pretraining was worth 6.0 points")
    assert "(95 % interval 4.0 to 8.0; 1 seed," in said(one).headline
    assert any("one seed only" in sentence for sentence in said(one).sentences)
    assert any("qu’une graine" in sentence for sentence in said(one, "fr").sentences)
    assert not any("one seed only" in sentence for sentence in said(study).sentences)


# --- baselines and advice -------------------------------------------------------------------------


def _against_tfidf(
    study: StudyDocument, mean: float, half: float, is_significant: bool
) -> Comparison:
    difference = Estimate(mean=mean, deviation=0.01, low=mean - half, high=mean + half, values=[0])
    changed = {"difference": difference, "is_significant": is_significant}
    return study.comparisons[1].model_copy(update=changed)


@pytest.mark.parametrize("is_significant", [True, False])
def test_a_better_baseline_comes_first(study: StudyDocument, is_significant: bool) -> None:
    against = _against_tfidf(study, -0.037, 0.016 if is_significant else 0.05, is_significant)
    better = with_accuracy(study, tfidf=0.85).model_copy(
        update={"comparisons": [study.comparisons[0], against]}
    )
    english, french = said(better), said(better, "fr")
    if is_significant:
        assert english.headline == (
            "TF-IDF with logistic regression does better: 85.0 % against 81.3 % with pretraining "
            "(3.7 points more, 95 % interval 2.1 to 5.3)."
        )
        assert french.headline.startswith("TF-IDF avec régression logistique fait mieux : 85,0 %")
    else:
        assert "is ahead: 85.0 % against 81.3 %" in english.headline
        assert "though this is not shown (3.7 points, 95 % interval −1.3 to +8.7)" in (
            english.headline
        )
        assert "mais ce n’est pas montré" in french.headline
    assert english.sentences[0].startswith("Pretraining was worth 6.2 points")


def test_an_untested_baseline_that_is_ahead(study: StudyDocument) -> None:
    better = with_accuracy(study, tfidf=0.85).model_copy(
        update={"comparisons": study.comparisons[:1]}
    )
    assert "not tested against each other" in said(better).headline
    assert "n’ont pas été comparés" in said(better, "fr").headline


def test_the_majority_class_ahead_is_said_first(study: StudyDocument) -> None:
    useless = with_accuracy(study, majority=0.9)
    assert said(useless).headline.startswith("Always answering the most frequent class is ahead")


def test_a_baseline_behind(study: StudyDocument) -> None:
    assert said(study).sentences[0] == (
        "That it beats a plain baseline is not shown. TF-IDF with logistic regression: 79.6 % "
        "against 81.3 % (difference 1.7 points, 95 % interval −0.5 to +3.9)."
    )
    comparisons = [study.comparisons[0], _against_tfidf(study, 0.017, 0.01, True)]
    beaten = study.model_copy(update={"comparisons": comparisons})
    assert said(beaten).sentences[0].startswith("With pretraining the model also beats")
    assert "(1.7 points less, 95 % interval 0.7 to 2.7)" in said(beaten).sentences[0]
    assert "de moins" in said(beaten, "fr").sentences[0]
    untested = study.model_copy(update={"comparisons": study.comparisons[:1]})
    assert "not tested against each other" in said(untested).sentences[0]


def test_what_to_use(study: StudyDocument) -> None:
    advice = "Highest here, so what to use. Stacked (TF-IDF"
    assert any(sentence.startswith(advice) for sentence in said(study).sentences)
    assert any("donc à employer. L’empilement" in text for text in said(study, "fr").sentences)
    assert not any("lead over" in sentence for sentence in said(study).sentences)
    pretrained = with_accuracy(study, pretrained=0.9)
    assert not any("Highest here" in sentence for sentence in said(pretrained).sentences)


def test_a_lead_that_is_not_shown_is_called_so(study: StudyDocument) -> None:
    last = study.comparisons[-1].model_copy(update={"is_significant": False})
    doubtful = study.model_copy(update={"comparisons": [*study.comparisons[:-1], last]})
    expected = (
        "Its lead over the next one is not shown, though. "
        "The next one: Fine-tuning the pretrained base."
    )
    assert expected in said(doubtful).sentences


def test_without_comparisons_the_best_arm_is_named(study: StudyDocument) -> None:
    alone = study.model_copy(update={"comparisons": []})
    assert said(alone).headline.startswith("Highest here")


# --- labels ---------------------------------------------------------------------------------------


def _saving(**changes: Any) -> Saving:
    usual = {"arm": "pretrained", "labels": 200, "against": "scratch", "most": 1600}
    return Saving(**{**usual, "equivalent": 812.4, "low": 500.0, "high": 1400.0, **changes})


def test_savings_and_what_more_would_bring(study: StudyDocument) -> None:
    english, french = said(study).sentences, said(study, "fr").sentences
    assert "With pretraining, 200 labels do what 810 (500 to 1,400) do from scratch." in english
    assert (
        "Avec préentraînement, 200 étiquettes font autant que 810 (de 500 à 1 400) "
        "à partir de zéro." in french
    )
    assert (
        "By the curve so far, 200 more labels would bring the pretrained model about "
        "1.1 points (0.2 to 2.3)." in english
    )
    assert any("environ 1,1 point (de 0,2 à 2,3)" in sentence for sentence in french)


@pytest.mark.parametrize(
    ("saving", "expected"),
    [
        (_saving(high=None), "do what 810 (500 to more than 1,600) do from scratch."),
        (_saving(low=150.0), "(150 to 1,400) do from scratch: a saving is not shown."),
        (
            _saving(equivalent=None, low=None, high=None),
            "200 labels do more than 1,600 do from scratch, the most that were measured.",
        ),
        (
            _saving(equivalent=None, low=900.0, high=None),
            "within the 95 % interval they may be worth only 900.",
        ),
    ],
)
def test_every_kind_of_saving(study: StudyDocument, saving: Saving, expected: str) -> None:
    changed = with_labels(study, saving)
    assert sum(expected in sentence for sentence in said(changed).sentences) == 1
    said(changed, "fr")


def test_the_saving_that_is_told_is_not_the_most_flattering(study: StudyDocument) -> None:
    small, large = _saving(labels=50, equivalent=1000.0), _saving(labels=400, equivalent=900.0)
    changed = with_labels(study, small, large)
    assert any("400 labels do what 900" in sentence for sentence in said(changed).sentences)
    assert not any("50 labels do" in sentence for sentence in said(changed).sentences)


def test_savings_against_other_arms_are_left_to_the_table(study: StudyDocument) -> None:
    changed = with_labels(study, _saving(against="tfidf"))
    assert not any("from scratch." in sentence for sentence in said(changed).sentences)


# --- the data -------------------------------------------------------------------------------------


def test_repeated_texts_are_told_with_and_without(study: StudyDocument) -> None:
    assert (
        "Found again in training or validation, word for word or nearly: 54 of the 2,000 test "
        "texts. All figures leave them out." in said(study).sentences
    )
    assert (
        "With the repeated texts it would have been: pretrained 81.9 % (without them 81.3 %); "
        "from scratch 75.7 % (without them 75.1 %)." in said(study).sentences
    )
    assert any("(sans eux 81,3 %) ; à partir" in text for text in said(study, "fr").sentences)


def test_serious_findings_are_pointed_at(study: StudyDocument) -> None:
    assert said(study).sentences[-1].startswith("The data check has 1 serious finding")
    assert said(study, "fr").sentences[-1].startswith("L’examen des données a relevé 1 constat")


def test_a_clean_study_says_nothing_of_data_and_labels(bare_study: StudyDocument) -> None:
    assert said(bare_study).sentences == []


def test_an_arm_with_a_name_of_its_own_keeps_it(study: StudyDocument) -> None:
    arms = [
        arm.model_copy(update={"name": "my {best} <arm>"}) if arm.name == "stacked" else arm
        for arm in study.arms
    ]
    comparisons = study.comparisons[:2]
    named = study.model_copy(update={"arms": arms, "comparisons": comparisons})
    assert any("what to use. my {best} <arm>: 84.2 %" in text for text in said(named).sentences)


def test_an_advised_arm_that_is_best_is_what_to_use(stacked_runs_study: StudyDocument) -> None:
    english, french = said(stacked_runs_study), said(stacked_runs_study, "fr")
    assert any("what to use. Advised (TF-IDF," in text for text in english.sentences)
    assert any("à employer. Le modèle conseillé (TF-IDF," in text for text in french.sentences)
    assert not any("lead" in text for text in english.sentences)


def test_a_blended_arm_that_is_best_is_what_to_use(ensemble_study: StudyDocument) -> None:
    english, french = said(ensemble_study), said(ensemble_study, "fr")
    assert any("what to use. Blended (the pretrained" in text for text in english.sentences)
    assert any("à employer. Le mélange (modèle" in text for text in french.sentences)
    assert not any("lead" in text for text in english.sentences)
