"""What the cells of a study are computed from, read once and kept for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from greffe.baselines.features import FeatureCache
from greffe.config.options import Training
from greffe.config.recipe import Recipe
from greffe.model.weights import BASE, cut_positions, tensors_hash
from greffe.pipelines.auxiliary import AuxiliaryTables
from greffe.pipelines.finetune_recipe import Start, finetune_recipe
from greffe.pipelines.labelled import data_hash
from greffe.pipelines.provenance import FeatureRuns
from greffe.run import RunDirectory
from greffe.study.parts import Parts
from greffe.training.checkpoint import run_weights

NO_SOUP = "train.soup=1"
"""A cell is one fine-tuning: in the same time, more seeds tell more than averaged weights."""


def cell_recipe(
    run: RunDirectory, training: Training, seed: int, arm_changes: Sequence[str] = ()
) -> Recipe:
    """Return the recipe of a fine-tuning in a study."""
    return finetune_recipe(Start(parent=run), cell_training(training, seed, arm_changes))


def cell_training(training: Training, seed: int, arm_changes: Sequence[str] = ()) -> Training:
    """Add the seed, and the changes of a study and of an arm before the user's."""
    return replace(
        training, seed=seed, jobs=None, changes=[NO_SOUP, *arm_changes, *training.changes]
    )


@dataclass
class CellInputs:
    """Labelled texts, choices and runs; a base or feature run reads each text once."""

    parts: Parts
    training: Training
    feature_runs: FeatureRuns = field(default_factory=FeatureRuns)
    auxiliary: AuxiliaryTables = field(default_factory=AuxiliaryTables)
    _hashes: dict[Path, tuple[str, str]] = field(default_factory=dict)
    _features: dict[Path, FeatureCache] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what a worker process reads itself if it needs it: models and their vectors."""
        return {**self.__dict__, "_features": {}}

    @cached_property
    def test_hash(self) -> str:
        """The hash of the test texts."""
        return data_hash(self.parts.test)

    def weights_hash(self, run: RunDirectory) -> str:
        """Return the hash of a run's weights."""
        return self._hashes_of(run)[0]

    def base_hash(self, run: RunDirectory) -> str:
        """Return the hash of a run's base, as a training that starts from it must record it."""
        return self._hashes_of(run)[1]

    def base_features(self, run: RunDirectory) -> FeatureCache:
        """Return what turns texts into features of a run's base."""
        if run.path not in self._features:
            self._features[run.path] = FeatureCache(run)
        return self._features[run.path]

    def _hashes_of(self, run: RunDirectory) -> tuple[str, str]:
        if run.path not in self._hashes:
            weights, digest = run_weights(run)
            # As a cell transfers them: with the learned positions of its context.
            context = cell_recipe(run, self.training, 0).model.context
            cut = cut_positions(weights, context)
            base = {name: value for name, value in cut.items() if name.startswith(BASE)}
            self._hashes[run.path] = digest, tensors_hash(base)
        return self._hashes[run.path]
