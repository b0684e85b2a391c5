"""Tiny models learn a made-up language to near its entropy; what they learned is transferred."""

from __future__ import annotations

from pathlib import Path

import pytest

import greffe
from greffe.api import Run
from greffe.data.tables import Example
from greffe.model.weights import base_hash
from greffe.progress import quiet
from greffe.samples.toy import MarkovLanguage

BYTES_A_WORD = 5  # four letters and a space


def directed(language: MarkovLanguage, count: int, seed: int) -> list[Example]:
    """Return texts forwards and backwards: only the order of the words tells them apart."""
    return [
        Example(text, "forwards")
        if number % 2
        else Example(" ".join(reversed(text.split())), "backwards")
        for number, text in enumerate(language.documents(count, seed=seed, length=40))
    ]


def pretrain(folder: Path, texts: list[str], objective: str, steps: int) -> Run:
    """A tiny base pretrained on these texts."""
    path = folder / "text.txt"
    path.write_text("\n".join(texts) + "\n", "utf-8")
    with quiet():
        return greffe.pretrain(
            path,
            folder / objective,
            recipe="tiny",
            objective=objective,
            budget=f"{steps}steps",
            changes=[
                *("train.threads=1", "train.batch=32"),
                *("train.evaluate_every=25%", "train.evaluate_rows=64"),
            ],
            valid=0.05,
        )


@pytest.mark.slow
def test_a_causal_model_learns_to_near_the_entropy(tmp_path):
    language = MarkovLanguage(seed=1, words=24)
    run = pretrain(tmp_path, list(language.documents(1500, seed=2)), "causal", 250)
    reached = run.manifest().result["bits_per_byte"] * BYTES_A_WORD
    # No model of the past can be better; a good one is close, but for a document's first word and
    # its end, which the entropy rate does not count.
    assert 0.97 * language.entropy_rate < reached < 1.15 * language.entropy_rate


@pytest.mark.slow
def test_a_masked_model_has_a_lower_loss_than_any_causal_one(tmp_path):
    language = MarkovLanguage(seed=1, words=24)
    run = pretrain(tmp_path, list(language.documents(1500, seed=2)), "masked", 500)
    reached = run.manifest().result["bits_per_byte"] * BYTES_A_WORD
    assert 0.95 * language.masked_entropy < reached < 0.95 * language.entropy_rate


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["hybrid", "causal"])
def test_a_pretrained_classifier_beats_scratch_with_few_labels(tmp_path, objective):
    language = MarkovLanguage(seed=3, words=16)
    texts = [example.text for example in directed(language, 1600, 5)]
    base = pretrain(tmp_path, texts, objective, 600)
    train, valid, test = (
        directed(language, count, seed) for count, seed in ((24, 6), (60, 7), (200, 8))
    )
    accuracies = {}
    for arm in ("pretrained", "scratch"):
        with quiet():
            run = greffe.finetune(
                base if arm == "pretrained" else None,
                scratch=arm == "scratch",
                like=base if arm == "scratch" else None,
                data=train,
                valid=valid,
                out=tmp_path / arm,
                budget="8epochs",
                changes=["train.threads=1"],
            )
            accuracies[arm] = run.evaluate(test).accuracy
        initial = run.manifest().lineage.initial_base
        assert (initial == base_hash(base.model)) == (arm == "pretrained")
    assert accuracies["pretrained"] > 0.85, accuracies
    assert accuracies["pretrained"] > accuracies["scratch"] + 0.15, accuracies


@pytest.mark.slow
def test_a_study_finds_a_difference_that_exists(tmp_path):
    language = MarkovLanguage(seed=3, words=16)
    texts = [example.text for example in directed(language, 1600, 5)]
    base = pretrain(tmp_path, texts, "hybrid", 600)
    train, valid, test = (
        directed(language, count, seed) for count, seed in ((24, 6), (24, 7), (120, 8))
    )
    test[5] = train[3]  # a planted leak
    with quiet():
        study = greffe.compare(
            base,
            data=train,
            valid=valid,
            test=test,
            out=tmp_path / "study",
            seeds=6,
            budget="8epochs",
            changes=["train.threads=1"],
        )
    question = study.results.comparisons[0]
    assert question.is_significant
    assert question.difference.low > 0.1
    assert question.p == pytest.approx(2 / 2**6)
    assert study.results.data.repeated == 1
    assert "leak" in {finding.kind for finding in study.results.findings}
    probes = {probe.name: probe.accuracy.mean for probe in study.results.proof.probes}
    assert probes["pretrained"] > probes["random"]


@pytest.mark.slow
def test_a_study_finds_no_difference_where_there_is_none(tmp_path):
    """The base has learned nothing: its arm and scratch differ by chance only."""
    language = MarkovLanguage(seed=3, words=16)
    texts = list(language.documents(60, seed=5))
    (tmp_path / "text.txt").write_text("\n".join(texts) + "\n", "utf-8")
    significant = 0
    for repetition in range(5):
        with quiet():
            base = greffe.pretrain(
                tmp_path / "text.txt",
                tmp_path / f"base-{repetition}",
                recipe="tiny",
                budget="1steps",
                seed=1000 + repetition,
                changes=["train.threads=1", "train.lr=1e-9"],
            )
            study = greffe.compare(
                base,
                data=directed(language, 40, 10 + repetition),
                valid=directed(language, 20, 20 + repetition),
                test=directed(language, 100, 30 + repetition),
                out=tmp_path / f"study-{repetition}",
                seeds=6,
                budget="2epochs",
                changes=["train.threads=1"],
            )
        significant += study.results.comparisons[0].is_significant
    assert significant <= 1
