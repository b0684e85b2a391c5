"""Arms that fit a linear model: what the TF-IDF and stacked arms have in common."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import torch

from greffe.baselines.linear_classifier import LinearClassifier, fit_linear
from greffe.baselines.linear_runs import write_linear_run
from greffe.data.tables import Example
from greffe.machine import measure_peak_memory
from greffe.output_folder import OutputFolder
from greffe.pipelines.labelled import data_hash
from greffe.study.arms.arm import Cell, TrainedArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.folder import CellResult, rounded
from greffe.study.parts import labelled_subset


class LinearArm(TrainedArm):
    """TF-IDF with logistic regression; further features and texts as its run and options say."""

    is_deterministic = True
    takes_auxiliary = False
    """Whether it learns from the auxiliary texts too."""
    keeps_run = False
    """Whether the model fitted to all labels is kept, to predict with it like with any run."""

    @property
    def shares(self) -> str | None:
        """The vectors of texts that a base or a feature run has read."""
        return "features" if self.run is not None or self.feature_runs else None

    def key_inputs(self, inputs: CellInputs, seed: int) -> list[object]:
        """Return what the features of the base, feature runs and auxiliary texts depend on."""
        found: list[object] = []
        if self.run is not None:
            manifest = self.run.manifest()
            found += [
                inputs.weights_hash(self.run),
                manifest.lineage.tokenizer,
                manifest.directions,
                self.run.recipe().classification.lowercase,
            ]
        found.append([inputs.feature_runs.hashes[run.path] for run in self.feature_runs])
        if self.takes_auxiliary:
            found.append(sorted(inputs.auxiliary.hashes.values()))
        return found

    def compute(self, cell: Cell, inputs: CellInputs, folder: Path, *, resume: bool) -> CellResult:
        """Fit, then predict the test texts; there is nothing to resume."""
        examples, _ = labelled_subset(inputs.parts, cell.labels, cell.seed)
        began = time.perf_counter()
        with measure_peak_memory() as memory:
            model = fit_linear(
                examples,
                inputs.parts.labels,
                tfidf=True,
                base=None if self.run is None else inputs.base_features(self.run),
                feature_runs=inputs.feature_runs.readers(self.feature_runs),
                auxiliary=inputs.auxiliary.auxiliary if self.takes_auxiliary else None,
                seed=cell.seed,
            )
            seconds = time.perf_counter() - began
            probabilities = model.probabilities([example.text for example in inputs.parts.test])
        if self.keeps_run and cell.is_full:
            self._keep(model, examples, inputs, folder)
        return CellResult(
            probabilities=rounded(probabilities),
            validation=model.settings.accuracy,
            seconds=round(seconds, 1),
            memory_bytes=memory.peak,
            parameters=model.weights.size + model.bias.size,
        )

    def _keep(
        self,
        model: LinearClassifier,
        examples: Sequence[Example],
        inputs: CellInputs,
        folder: Path,
    ) -> None:
        with OutputFolder(folder, overwrite=True) as taken:
            taken.begin()
            write_linear_run(
                taken.path,
                model,
                inputs.parts.labels,
                parent=self.run,
                feature_runs=self.feature_runs,
                threads=torch.get_num_threads(),
                data={
                    "train": data_hash(examples),
                    **(inputs.auxiliary.hashes if self.takes_auxiliary else {}),
                },
                result={"accuracy": model.settings.accuracy, "c": model.settings.c},
            )
