"""From the results of a study to its figures: arms, comparisons, label curves.

Figures are about the test texts that occur in no other part; where some do, accuracy on all test
texts is given as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from greffe.evaluation.intervals import Estimate, crossed_estimate, seeds_estimate, with_bootstrap
from greffe.evaluation.label_curves import equivalent_labels, extrapolate
from greffe.evaluation.metrics import confidence_bins, evaluate_probabilities, label_indices
from greffe.evaluation.paired import SIGNIFICANCE, compare_correct, holm, mcnemar
from greffe.study.arms import Cell, PlannedArm
from greffe.study.document import (
    Arm,
    CalibrationBin,
    Comparison,
    Cost,
    EpochPoint,
    Extrapolation,
    LabelCurves,
    LabelPoint,
    Saving,
)
from greffe.study.folder import CellResult
from greffe.study.parts import Parts
from greffe.study.plan import detailed_arms, planned_comparisons

FRACTIONS = (0.0, 1.0)
MORE_LABELS = 200
CALIBRATION_BINS = 10

Results = Mapping[Cell, CellResult]


@dataclass(frozen=True)
class Table:
    """All seeds of an arm with one number of labels."""

    seeds: list[int]
    results: list[CellResult]
    probabilities: np.ndarray
    """[seeds, texts, classes], all test texts."""
    correct: np.ndarray
    """[seeds, texts] of booleans."""


class Analysis:
    """The results of a study and its test texts."""

    def __init__(self, parts: Parts, arms: Sequence[PlannedArm], results: Results) -> None:
        self.parts = parts
        self.arms = list(arms)
        self.results = results
        self.targets = label_indices(parts.labels, [example.label for example in parts.test])
        self.is_clean = ~np.array(parts.is_repeated, dtype=bool)

    # --- tables ---

    def table(self, arm: str, labels: int) -> Table:
        """Return all seeds of an arm with this many labels."""
        cells = [cell for cell in self.results if (cell.arm.name, cell.labels) == (arm, labels)]
        results = [self.results[cell] for cell in cells]
        probabilities = np.array([result.probabilities for result in results])  # [S, N, classes]
        return Table(
            seeds=[cell.seed for cell in cells],
            results=results,
            probabilities=probabilities,
            correct=probabilities.argmax(axis=-1) == self.targets,
        )

    @cached_property
    def full(self) -> dict[str, Table]:
        """The table of each arm with every label."""
        return {arm.name: self.table(arm.name, self.parts.labelled) for arm in self.arms}

    @cached_property
    def label_counts(self) -> list[int]:
        """Numbers of labels that were tried, in ascending order."""
        return sorted({cell.labels for cell in self.results})

    def predicted(self, arm: str) -> list[str]:
        """Return the label that an arm predicts for each test text, by the mean of its seeds."""
        return [self.parts.labels[index] for index in self.mean_probabilities(arm).argmax(axis=-1)]

    def mean_probabilities(self, arm: str) -> np.ndarray:
        """Return an arm's probabilities [texts, classes], averaged over its seeds."""
        mean: np.ndarray = self.full[arm].probabilities.mean(axis=0)
        return mean

    # --- arms ---

    def arm(self, plan: PlannedArm, kept_run: str | None) -> Arm:
        """Return all figures of an arm with every label."""
        table = self.full[plan.name]
        tests = [e.label for e, keep in zip(self.parts.test, self.is_clean, strict=True) if keep]
        probabilities = table.probabilities[:, self.is_clean]
        scored = [evaluate_probabilities(self.parts.labels, tests, each) for each in probabilities]
        correct = table.correct[:, self.is_clean]
        return Arm(
            name=plan.name,
            kind=plan.kind,
            run=None if plan.run is None else plan.run.name,
            feature_runs=[feature_run.name for feature_run in plan.feature_runs],
            seeds=table.seeds,
            accuracy=with_bootstrap(crossed_estimate(correct, bounds=FRACTIONS), correct),
            accuracy_everywhere=crossed_estimate(table.correct, bounds=FRACTIONS)
            if not self.is_clean.all()
            else None,
            macro_f1=seeds_estimate([one.macro_f1 for one in scored], FRACTIONS),
            log_loss=seeds_estimate([one.log_loss for one in scored]),
            calibration_error=seeds_estimate([one.calibration_error for one in scored], FRACTIONS),
            epochs=_epochs(table.results),
            confusion=np.mean([one.confusion for one in scored], axis=0).tolist(),
            calibration=_calibration(np.concatenate(probabilities), correct.reshape(-1)),
            cost=_cost(plan, table.results),
            initial_base=table.results[0].initial_base,
            kept_run=kept_run,
        )

    # --- comparisons ---

    def comparisons(self) -> list[Comparison]:
        """Return every planned comparison.

        The first is the study's question; the others are corrected for their number.
        """
        pairs = planned_comparisons(self.arms)
        tables = [
            tuple(self.full[name].correct[:, self.is_clean].astype(float) for name in pair)
            for pair in pairs
        ]
        results = [compare_correct(first, second) for first, second in tables]
        differences = [
            with_bootstrap(result.difference, first - second)
            for result, (first, second) in zip(results, tables, strict=True)
        ]
        adjusted = [results[0].p, *holm([result.p for result in results[1:]])]
        return [
            Comparison(
                first=first,
                second=second,
                difference=difference,
                p=result.p,
                p_adjusted=p,
                smallest_p=result.smallest_p,
                mcnemar=mcnemar(self._mean_correct(first), self._mean_correct(second)),
                smallest_detectable=result.smallest_detectable,
                is_significant=p < SIGNIFICANCE and _excludes_zero(result.difference),
            )
            for (first, second), result, difference, p in zip(
                pairs, results, differences, adjusted, strict=True
            )
        ]

    def _mean_correct(self, arm: str) -> np.ndarray:
        """Return whether the mean of an arm's seeds is correct on each clean text."""
        correct = self.mean_probabilities(arm).argmax(axis=-1) == self.targets
        clean: np.ndarray = correct[self.is_clean]
        return clean

    # --- labels ---

    def label_curves(self) -> LabelCurves | None:
        """Return accuracy against labels for every arm; None if only one number was tried."""
        counts = self.label_counts
        if len(counts) < 2:
            return None
        curves = {
            arm.name: {
                count: self.table(arm.name, count).correct[:, self.is_clean] for count in counts
            }
            for arm in self.arms
        }
        points = [
            LabelPoint(arm=name, labels=count, accuracy=crossed_estimate(correct, bounds=FRACTIONS))
            for name, curve in curves.items()
            for count, correct in curve.items()
        ]
        return LabelCurves(
            points=points,
            savings=[
                self._saving(name, against, count, curves)
                for name, against in self._questions()
                for count in counts
            ],
            extrapolations=[
                Extrapolation(
                    arm=name,
                    labels=counts[-1],
                    more=MORE_LABELS,
                    gain=gain.gain,
                    low=gain.low,
                    high=gain.high,
                )
                for name in detailed_arms(self.arms)
                if (gain := extrapolate(_same_rows(curves[name]), MORE_LABELS)) is not None
            ],
        )

    def _questions(self) -> list[tuple[str, str]]:
        """Return the comparisons of the arm that the study is about."""
        pairs = planned_comparisons(self.arms)
        return [pair for pair in pairs if pair[0] == pairs[0][0]]

    def _saving(
        self, arm: str, against: str, labels: int, curves: Mapping[str, Mapping[int, np.ndarray]]
    ) -> Saving:
        found = equivalent_labels(curves[arm][labels], _same_rows(curves[against]))
        return Saving(
            arm=arm,
            labels=labels,
            against=against,
            equivalent=found.value,
            low=found.low,
            high=found.high,
            most=self.label_counts[-1],
            is_floor=found.is_floor,
        )


def _same_rows(curve: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Repeat the single row that a deterministic arm has with all labels, once for each seed."""
    seeds = max(len(correct) for correct in curve.values())
    return {
        count: np.repeat(correct, seeds, axis=0) if len(correct) == 1 else correct
        for count, correct in curve.items()
    }


def _calibration(probabilities: np.ndarray, correct: np.ndarray) -> list[CalibrationBin]:
    """Group predictions [N, classes] by confidence; `correct` [N] are booleans."""
    confidence = probabilities.max(axis=1)
    index = confidence_bins(confidence, CALIBRATION_BINS)
    return [
        CalibrationBin(
            confidence=float(confidence[index == number].mean()),
            accuracy=float(correct[index == number].mean()),
            count=int((index == number).sum()),
        )
        for number in np.unique(index)
    ]


def _epochs(results: Sequence[CellResult]) -> list[EpochPoint]:
    """Return validation accuracy after each epoch that every seed reached."""
    shortest = min(len(result.evaluations) for result in results)
    points = []
    for number in range(shortest):
        evaluations = [result.evaluations[number] for result in results]
        found = seeds_estimate([one.accuracy for one in evaluations], FRACTIONS)
        points.append(
            EpochPoint(
                epoch=float(np.mean([one.epoch for one in evaluations])),
                mean=found.mean,
                low=found.low,
                high=found.high,
                values=found.values,
            )
        )
    return points


def _cost(plan: PlannedArm, results: Sequence[CellResult]) -> Cost:
    peaks = [result.memory_bytes for result in results if result.memory_bytes is not None]
    before = None
    if plan.run is not None and plan.uses_weights:
        before = plan.run.manifest().result
    return Cost(
        seconds=float(np.mean([result.seconds for result in results])),
        tokens=round(float(np.mean([result.tokens for result in results]))),
        memory_bytes=max(peaks) if peaks else None,
        parameters=results[0].parameters,
        pretraining_seconds=before.get("seconds") if before else None,
        pretraining_tokens=before.get("tokens") if before else None,
    )


def _excludes_zero(difference: Estimate) -> bool:
    return difference.low > 0 or difference.high < 0
