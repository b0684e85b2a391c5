"""Texts on which arms disagree: the clearest gain and loss of the true class."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.data.tables import Example
from greffe.study.analysis import Analysis
from greffe.study.arms import ARMS, Cell
from greffe.study.disagreements import LONGEST, find_disagreements
from greffe.study.folder import CellResult
from greffe.study.parts import Parts

KINDS = ("pretrained", "scratch", "majority", "tfidf")
# Probability of the true class, text by text.
PRETRAINED = [0.9, 0.5, 0.2, 0.6, 0.99]
SCRATCH = [0.4, 0.5, 0.7, 0.5, 0.01]


@pytest.fixture
def analysis() -> Analysis:
    test = [Example(f"texte {n}", "a") for n in range(4)] + [Example("x" * (LONGEST + 1), "a")]
    train = [Example(f"autre {n}", "ab"[n % 2]) for n in range(10)]
    parts = Parts(train, train[:2], test, ["a", "b"], [False] * 5, {})
    values = {"pretrained": PRETRAINED, "scratch": SCRATCH}
    arms = [ARMS[kind](kind, None) for kind in KINDS]
    results = {
        Cell(arm, 10, 1, is_full=True): CellResult(
            probabilities=[[p, 1 - p] for p in values.get(arm.name, np.full(5, 0.5))],
            validation=None,
            seconds=0.0,
        )
        for arm in arms
    }
    return Analysis(parts, arms, results)


def test_gains_come_before_losses_and_equal_texts_are_left_out(analysis: Analysis) -> None:
    found = find_disagreements(analysis, {})
    assert [one.text for one in found] == ["texte 0", "texte 3", "texte 2"]


def test_each_detailed_arm_has_its_prediction(analysis: Analysis) -> None:
    first, *_, last = find_disagreements(analysis, {})
    assert [one.arm for one in first.predictions] == ["pretrained", "scratch", "tfidf"]
    assert first.label == last.label == "a"
    assert [one.label for one in first.predictions][:2] == ["a", "b"]
    assert first.predictions[0].probability == 0.9
    assert last.predictions[0].label == "b"
    assert all(one.words == [] for one in first.predictions)
