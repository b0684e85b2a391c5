"""From cells to figures: accuracies, comparisons and label curves of made-up results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from greffe.data.tables import Example
from greffe.run import RunDirectory
from greffe.seeding import rng
from greffe.study.analysis import Analysis
from greffe.study.arms import ARMS as REGISTERED
from greffe.study.arms import Cell
from greffe.study.folder import CellResult, EpochEvaluation
from greffe.study.parts import Parts
from greffe.study.plan import plan_cells

TEXTS = 200
SEEDS = list(range(1, 9))
BASE = RunDirectory("runs/base")
KINDS = ("pretrained", "scratch", "majority", "tfidf", "stacked", "ensemble")
ARMS = [REGISTERED[kind](kind, BASE if kind == "scratch" else None) for kind in KINDS]
SKILL = {"pretrained": 0.85, "scratch": 0.7, "majority": 0.5, "tfidf": 0.8, "stacked": 0.9}
SKILL["ensemble"] = 0.9


def parts_of(repeated: int = 0) -> Parts:
    test = [Example(f"texte {n}", "ab"[n % 2]) for n in range(TEXTS)]
    train = [Example(f"autre {n}", "ab"[n % 2]) for n in range(80)]
    valid = [Example(f"encore {n}", "ab"[n % 2]) for n in range(20)]
    is_repeated = [n < repeated for n in range(TEXTS)]
    return Parts(train, valid, test, ["a", "b"], is_repeated, {})


def result_of(cell: Cell, skill: float, seed: int = 0) -> CellResult:
    """Return a result that is right on about this fraction of the texts."""
    targets = np.arange(TEXTS) % 2
    draw = rng(seed, cell.arm.name, cell.labels, cell.seed)
    right = draw.random(TEXTS) < skill
    predicted = np.where(right, targets, 1 - targets)
    probabilities = np.where(np.arange(2) == predicted[:, None], 0.8, 0.2)
    evaluations = [
        EpochEvaluation(epoch=e, accuracy=0.5 + 0.1 * e, log_loss=0.7) for e in (1.0, 2.0)
    ]
    return CellResult(
        probabilities=probabilities.tolist(),
        validation=skill,
        evaluations=[] if cell.arm.is_deterministic else evaluations,
        seconds=2.0,
        tokens=1000,
        memory_bytes=cell.seed,
        parameters=7,
        initial_base="abc",
    )


def analysis_of(
    parts: Parts, labels: tuple[int, ...] = (), skill: dict[str, float] = SKILL, seed: int = 0
) -> Analysis:
    cells = plan_cells(ARMS, labels, SEEDS, parts)
    cells += [replace(cell, arm=ARMS[-1]) for cell in cells if cell.arm == ARMS[0]]

    def at(cell: Cell) -> float:
        # A tenth of the way from chance for each doubling below all labels.
        lost = 0.1 * np.log2(parts.labelled / cell.labels)
        return float(0.5 + (skill[cell.arm.name] - 0.5) * max(0.0, 1 - lost))

    return Analysis(parts, ARMS, {cell: result_of(cell, at(cell), seed) for cell in cells})


def test_an_arm_has_every_figure() -> None:
    analysis = analysis_of(parts_of())
    arm = analysis.arm(ARMS[0], "runs/pretrained-all-3")
    assert arm.seeds == SEEDS
    assert arm.accuracy.mean == pytest.approx(0.85, abs=0.03)
    assert arm.accuracy.low < arm.accuracy.mean < arm.accuracy.high
    assert arm.accuracy_everywhere is None
    assert arm.accuracy.bootstrap is not None
    assert arm.accuracy.bootstrap[0] < arm.accuracy.mean < arm.accuracy.bootstrap[1]
    assert np.sum(arm.confusion) == pytest.approx(TEXTS)
    assert np.trace(arm.confusion) / TEXTS == pytest.approx(arm.accuracy.mean)
    assert [point.epoch for point in arm.epochs] == [1.0, 2.0]
    assert [point.mean for point in arm.epochs] == pytest.approx([0.6, 0.7])
    assert sum(one.count for one in arm.calibration) == TEXTS * len(SEEDS)
    assert arm.calibration[0].confidence == pytest.approx(0.8)
    assert arm.calibration[0].accuracy == pytest.approx(arm.accuracy.mean)
    assert arm.cost.memory_bytes == 8
    assert arm.kept_run == "runs/pretrained-all-3"


def test_a_baseline_has_one_seed_and_no_epochs() -> None:
    arm = analysis_of(parts_of()).arm(ARMS[3], None)
    assert arm.seeds == [1]
    assert arm.accuracy.deviation is None
    assert arm.epochs == []


def test_repeated_test_texts_are_left_out_and_told() -> None:
    parts = parts_of(repeated=50)
    analysis = analysis_of(parts)
    for result in analysis.results.values():
        for index in range(50):  # what occurs in training is always right
            result.probabilities[index] = [1.0 - index % 2, float(index % 2)]
    arm = analysis.arm(ARMS[1], None)
    assert arm.accuracy_everywhere is not None
    assert arm.accuracy.mean == pytest.approx(0.7, abs=0.04)
    expected = (50 + 150 * arm.accuracy.mean) / TEXTS
    assert arm.accuracy_everywhere.mean == pytest.approx(expected)
    assert np.sum(arm.confusion) == pytest.approx(150)


def test_a_real_difference_is_significant_and_has_its_direction() -> None:
    question, *others = analysis_of(parts_of()).comparisons()
    assert (question.first, question.second) == ("pretrained", "scratch")
    assert question.is_significant
    assert question.difference.low > 0
    assert question.difference.bootstrap is not None
    assert question.difference.bootstrap[0] > 0
    assert question.p == question.p_adjusted == pytest.approx(2 / 2**8)
    assert question.mcnemar.only_first > question.mcnemar.only_second
    backwards = analysis_of(parts_of(), skill={**SKILL, "pretrained": 0.6, "scratch": 0.8})
    turned = backwards.comparisons()[0]
    assert turned.is_significant
    assert turned.difference.high < 0
    assert all(comparison.p_adjusted >= comparison.p for comparison in others)


def test_equal_arms_are_seldom_told_apart() -> None:
    equal = {**SKILL, "scratch": SKILL["pretrained"]}
    repetitions = 60
    significant = sum(
        analysis_of(parts_of(), skill=equal, seed=seed).comparisons()[0].is_significant
        for seed in range(1, repetitions + 1)
    )
    assert significant <= 0.05 * repetitions + 3  # two standard deviations above one in twenty


def test_label_curves_and_what_pretraining_saves() -> None:
    analysis = analysis_of(parts_of(), labels=(10, 20, 40))
    curves = analysis.label_curves()
    assert curves is not None
    assert {point.labels for point in curves.points} == {10, 20, 40, 80}
    assert len(curves.points) == 4 * len(ARMS)
    saving = next(one for one in curves.savings if (one.against, one.labels) == ("scratch", 80))
    assert saving.equivalent is None  # scratch never gets there
    assert saving.most == 80
    against_tfidf = {one.labels: one for one in curves.savings if one.against == "tfidf"}
    equivalent = against_tfidf[40].equivalent
    assert equivalent is None or equivalent > 40
    gains = {one.arm: one for one in curves.extrapolations}
    assert gains["pretrained"].more == 200
    assert gains["pretrained"].low <= gains["pretrained"].gain <= gains["pretrained"].high


def test_one_number_of_labels_is_no_curve() -> None:
    assert analysis_of(parts_of()).label_curves() is None
