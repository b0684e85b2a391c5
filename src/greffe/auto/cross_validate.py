"""Cross-validate one model after the other within a time, each on the same folds.

Finished folds are kept on disk, so that an interrupted command continues with the next one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from greffe.auto.choice import OutOfFold, accuracy_by_text, cannot_win
from greffe.auto.models import Labelled, TriedModel
from greffe.baselines.cross_validation import assign_folds
from greffe.data.duplicates import duplicate_groups
from greffe.errors import CorruptError
from greffe.evaluation.metrics import label_indices
from greffe.progress import notice
from greffe.storage import read_json, write_json

FOLDS = 5
LEAST_FOLDS = 2
"""Fewer say too little, about the model and about whether it can win."""
FEW_TEXTS, FEW_REPEATS = 400, 3
"""With few texts, folds differ much: linear models, which take moments, are repeated."""


@dataclass
class Clock:
    """The time of the whole command; what earlier processes spent counts too."""

    budget: float
    spent_before: float = 0.0
    started: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return self.spent_before + time.monotonic() - self.started

    @property
    def left(self) -> float:
        """Seconds until the budget is used up; may be negative."""
        return self.budget - self.spent


@dataclass
class Tried:
    """A model with its predictions so far."""

    model: TriedModel
    predictions: OutOfFold
    seconds: float = 0.0
    fold_seconds: float = 0.0
    """Of the slowest fold; a final training takes about as long."""
    stopped_after: int | None = None
    folds: int = 0


@dataclass
class CrossValidation:
    """Labelled texts in folds, near duplicates in the same fold, and a folder for results."""

    data: Labelled
    folder: Path
    clock: Clock
    seed: int

    def __post_init__(self) -> None:
        texts = [example.text for example in self.data.examples]
        names = [example.label for example in self.data.examples]
        self.targets = label_indices(self.data.labels, names)
        groups = [str(group) for group in duplicate_groups(texts)]
        self.repeats = FEW_REPEATS if len(texts) < FEW_TEXTS else 1
        self.fold_of = np.array(
            [
                assign_folds(groups, self.targets, self.seed + repeat, FOLDS)
                for repeat in range(self.repeats)
            ]
        )

    def parts(self, repeats: int) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
        """Yield repeat, fold, and the indices of the texts to train on and to test."""
        for repeat in range(repeats):
            for fold in range(FOLDS):
                is_tested = self.fold_of[repeat] == fold
                if is_tested.any():
                    yield repeat, fold, np.flatnonzero(~is_tested), np.flatnonzero(is_tested)

    def try_model(self, model: TriedModel, best: Tried | None = None) -> Tried | float:
        """Cross-validate a model; if there is no time for it, return the seconds that it needs.

        A model that cannot win against the best, nor beside it, is stopped after a fold.
        """
        texts = [example.text for example in self.data.examples]
        expected = model.estimated_seconds(texts)
        is_quick = model.is_quick
        shape = (self.repeats, len(texts), len(self.data.labels))
        tried = Tried(model, OutOfFold(np.full(shape, np.nan)))
        parts = list(self.parts(self.repeats if is_quick else 1))
        for number, (repeat, fold, train, test) in enumerate(parts):
            stored = self._path(model.key, repeat, fold)
            if not stored.exists():
                # The folds without which nothing is known, and the final training on all texts.
                slowest = tried.fold_seconds or expected
                needed = (max(1, LEAST_FOLDS - number) + 1) * slowest
                if not is_quick and needed > self.clock.left:
                    if number < LEAST_FOLDS:
                        return needed
                    notice(f"{model.name}: no time for more folds")
                    break
                self._compute(model, stored, repeat, train, test)
            probabilities, seconds = self._load(stored, len(test))
            tried.predictions.probabilities[repeat, test] = probabilities
            tried.seconds += seconds
            tried.fold_seconds = max(tried.fold_seconds, seconds)
            tried.folds = number + 1
            if not is_quick or number == len(parts) - 1:
                self._report(tried, len(parts))
            if best is None or not LEAST_FOLDS <= tried.folds < len(parts):
                continue
            if cannot_win(tried.predictions, best.predictions, self.targets):
                tried.stopped_after = tried.folds
                notice(f"{model.name}: stopped, it cannot win against {best.model.name}")
                break
        return tried

    def _compute(
        self, model: TriedModel, stored: Path, repeat: int, train: np.ndarray, test: np.ndarray
    ) -> None:
        examples, began = self.data.examples, time.monotonic()
        probabilities = model.held_out_probabilities(
            [examples[index] for index in train],
            [examples[index] for index in test],
            self.data.labels,
            self.seed + repeat,
        )
        seconds = time.monotonic() - began
        write_json(stored, {"seconds": seconds, "probabilities": probabilities.tolist()})

    def _load(self, stored: Path, texts: int) -> tuple[np.ndarray, float]:
        found = read_json(stored, "predictions of a fold")
        try:
            probabilities = np.array(found["probabilities"], np.float64)
            seconds = float(found["seconds"])
        except (KeyError, TypeError, ValueError):
            probabilities, seconds = np.empty(0), 0.0
        expected = (texts, len(self.data.labels))
        if probabilities.shape != expected or not np.isfinite(probabilities).all():
            raise CorruptError(
                f"{stored} is damaged.",
                expected=f"probabilities of {texts} texts and {expected[1]} classes",
                found=json.dumps(found)[:60],
                hint="remove the file and run the command again with --resume",
            )
        return probabilities, seconds

    def _report(self, tried: Tried, parts: int) -> None:
        by_text = accuracy_by_text(tried.predictions.probabilities, self.targets)
        accuracy = np.nanmean(by_text)
        left = max(0.0, self.clock.left)
        notice(
            f"{tried.model.name}: {tried.folds} of {parts} folds · accuracy {accuracy:.1%} · "
            f"{tried.seconds:.0f} s · {left / 60:.0f} min of the budget left"
        )

    def _path(self, name: str, repeat: int, fold: int) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{name}-{repeat}-{fold}.json"
