"""Tiny models learn a made-up language to near its entropy; what they learnt is carried over."""

from __future__ import annotations

from pathlib import Path

import pytest

import greffe
from greffe.api import Run
from greffe.data.tables import Example
from greffe.progress import quiet
from greffe.samples.toy import MarkovLanguage
from greffe.weights import base_hash

BYTES_A_WORD = 5  # four letters and a space


def grow(folder: Path, texts: list[str], objective: str, steps: int) -> Run:
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
    run = grow(tmp_path, list(language.documents(1500, seed=2)), "causal", 250)
    reached = run.manifest().result["bits_per_byte"] * BYTES_A_WORD
    # No model of the past can be better; a good one is close, but for a document's first word and
    # its end, which the entropy rate does not count.
    assert 0.97 * language.entropy_rate < reached < 1.15 * language.entropy_rate


@pytest.mark.slow
def test_a_masked_model_is_better_than_any_left_to_right_one_could_be(tmp_path):
    language = MarkovLanguage(seed=1, words=24)
    run = grow(tmp_path, list(language.documents(1500, seed=2)), "masked", 500)
    reached = run.manifest().result["bits_per_byte"] * BYTES_A_WORD
    assert 0.95 * language.masked_entropy < reached < 0.95 * language.entropy_rate


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["hybrid", "causal"])
def test_a_grafted_classifier_beats_scratch_with_few_labels(tmp_path, objective):
    """Forwards or backwards: both have the same words equally often, only their order tells."""
    language = MarkovLanguage(seed=3, words=16)

    def examples(count: int, seed: int) -> list[Example]:
        return [
            Example(text, "forwards")
            if number % 2
            else Example(" ".join(reversed(text.split())), "backwards")
            for number, text in enumerate(language.documents(count, seed=seed, length=40))
        ]

    base = grow(tmp_path, [example.text for example in examples(1600, 5)], objective, 600)
    train, valid, test = examples(24, 6), examples(60, 7), examples(200, 8)
    accuracies = {}
    for arm in ("grafted", "scratch"):
        with quiet():
            run = greffe.finetune(
                base if arm == "grafted" else None,
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
        assert (initial == base_hash(base.model)) == (arm == "grafted")
    assert accuracies["grafted"] > 0.85, accuracies
    assert accuracies["grafted"] > accuracies["scratch"] + 0.15, accuracies
