"""One cell of a study: an arm trained on some labels with a seed, and its word on the test part.

Knows nothing of the other cells. What a cell gives is a function of its inputs, whose hash is its
key: a result with the same key need not be computed again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from greffe.baselines.features import FeatureCache
from greffe.baselines.linear_classifier import LinearClassifier, fit_linear, majority
from greffe.baselines.linear_runs import write_linear_run
from greffe.config.recipe import Recipe
from greffe.data.tables import Example
from greffe.errors import MismatchError
from greffe.evaluation.metrics import label_indices
from greffe.inference.predict import predict
from greffe.machine import measure_peak_memory
from greffe.model.model import build_model
from greffe.output_folder import OutputFolder
from greffe.pipelines.auxiliary import AuxiliaryTables
from greffe.pipelines.finetune import finetune
from greffe.pipelines.finetune_recipe import finetune_recipe
from greffe.pipelines.labelled import data_hash
from greffe.pipelines.provenance import FeatureRuns
from greffe.run import RUN_FILE, RunDirectory
from greffe.study.folder import CellResult, EpochEvaluation, Move
from greffe.study.layer_changes import layer_moves
from greffe.study.parts import Parts, labelled_subset
from greffe.study.plan import PRETRAINED, SCRATCH, ArmPlan, Cell
from greffe.training.checkpoint import load_model, load_tokenizer, run_weights

FORMAT = 2
ONE_MEMBER = "train.soup=1"
"""A cell is one fine-tuning: for the same minutes, more seeds say more than averages."""
FROZEN = ("train.freeze=base", "train.lr=0.01")
"""A head alone is a small convex problem: it takes a rate that would ruin a base."""
DIGITS = 7  # of a probability: more would only fill the disk


@dataclass(frozen=True)
class Choices:
    """How every arm of a study is fine-tuned."""

    recipe: str | Path | Recipe | None
    budget: str | None
    changes: tuple[str, ...]

    def of(self, arm: ArmPlan, seed: int) -> Recipe:
        """The whole recipe of an arm with a seed."""
        return finetune_recipe(arm.run, self.recipe, self.budget, seed, self.changes_of(arm))

    def changes_of(self, arm: ArmPlan) -> list[str]:
        """What the user changed, after what a study's arms have unless the user says otherwise."""
        return [ONE_MEMBER, *(FROZEN if arm.kind == "frozen" else ()), *self.changes]


class Trainer:
    """Computes cells; what bases and teachers say of a text is kept for all that need it."""

    def __init__(
        self,
        parts: Parts,
        choices: Choices,
        bases: dict[Path, str],
        feature_runs: FeatureRuns | None = None,
        auxiliary_tables: AuxiliaryTables | None = None,
    ) -> None:
        self.parts = parts
        self.choices = choices
        self.bases = bases
        """The hash of each base's weights, by its run."""
        self.feature_runs = feature_runs or FeatureRuns()
        self.auxiliary_tables = auxiliary_tables or AuxiliaryTables()
        self._features: dict[Path, FeatureCache] = {}
        self._test_hash = data_hash(parts.test)

    def key(self, cell: Cell) -> str:
        """The hash of everything that a cell's result depends on."""
        train, valid = labelled_subset(self.parts, cell.labels, cell.seed)
        arm = cell.arm
        recipe = None if arm.is_linear else self.choices.of(arm, cell.seed).to_toml()
        known = None if arm.run is None else arm.run.manifest()
        inputs: list[object] = [
            FORMAT,
            arm.kind,
            None if arm.run is None or arm.kind == "scratch" else self.bases[arm.run.path],
            None if known is None else known.lineage.tokenizer,
            # A scratch arm takes none of the weights, but reads the way its model did.
            None if known is None else known.directions,
            recipe,
            data_hash(train),
            data_hash(valid),
            self._test_hash,
        ]
        if arm.feature_runs:  # nothing is added for others: their earlier results stay good
            inputs.append(
                [self.feature_runs.hashes[feature_run.path] for feature_run in arm.feature_runs]
            )
        if arm.auxiliary:
            inputs.append(sorted(self.auxiliary_tables.hashes.values()))
        if arm.is_linear and arm.run is not None and arm.run.recipe().classification.lowercase:
            inputs.append("small letters")
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()

    def compute(self, cell: Cell, folder: Path, *, resume: bool) -> CellResult:
        """Train and test; a run is made in `folder`, where an interrupted one may go on."""
        train, valid = labelled_subset(self.parts, cell.labels, cell.seed)
        if cell.arm.is_linear:
            return self._linear(cell, train, folder)
        return self._transformer(cell, train, valid, folder, resume=resume)

    def _transformer(
        self,
        cell: Cell,
        train: Sequence[Example],
        valid: Sequence[Example],
        folder: Path,
        *,
        resume: bool,
    ) -> CellResult:
        arm = cell.arm
        with measure_peak_memory() as memory:
            run = finetune(
                list(train),
                folder,
                parent=None if arm.kind == "scratch" else arm.run,
                like=arm.run if arm.kind == "scratch" else None,
                recipe=self.choices.recipe,
                valid=list(valid),
                budget=self.choices.budget,
                seed=cell.seed,
                changes=self.choices.changes_of(arm),
                new_head=True,
                overwrite=not resume,
                resume=resume,
            )
        manifest = run.manifest()
        model, tokenizer = load_model(run), load_tokenizer(run)
        predictions = predict(
            model,
            tokenizer,
            manifest.labels,
            (example.text for example in self.parts.test),
            causal=manifest.direction == "causal",
        )
        probabilities = np.array(
            [list(prediction.probabilities.values()) for prediction in predictions]
        )
        evaluations = [
            EpochEvaluation(
                epoch=line["epoch"], accuracy=line["accuracy"], log_loss=line["log_loss"]
            )
            for line in run.metrics()
            if line["kind"] == "valid" and line["accuracy"] is not None
        ]
        return CellResult(
            probabilities=_rounded(probabilities),
            validation=manifest.result.get("accuracy"),
            evaluations=evaluations,
            seconds=manifest.result["seconds"],
            tokens=manifest.result["tokens"],
            memory_bytes=memory.peak,
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            initial_base=manifest.lineage.initial_base,
            initial_head=manifest.lineage.initial_head,
            moves=self._moves(cell, run) if cell.is_full else [],
        )

    def _moves(self, cell: Cell, run: RunDirectory) -> list[Move]:
        assert cell.arm.run is not None
        if cell.arm.kind == "scratch":
            recipe, manifest = run.recipe(), run.manifest()
            before = build_model(recipe.model, manifest.vocab, {}, recipe.seed).state_dict()
        else:
            before, _ = run_weights(cell.arm.run)
        after, _ = run_weights(run)
        return [
            Move(part=part, tensors=tensors, moved=moved)
            for part, (tensors, moved) in layer_moves(before, after).items()
        ]

    def _linear(self, cell: Cell, examples: Sequence[Example], folder: Path) -> CellResult:
        arm, labels = cell.arm, self.parts.labels
        began = time.perf_counter()
        texts = [example.text for example in self.parts.test]
        if arm.kind == "majority":
            targets = label_indices(labels, [example.label for example in examples])
            probabilities = np.tile(majority(targets, len(labels)), (len(texts), 1))
            return CellResult(probabilities=_rounded(probabilities), validation=None, seconds=0.0)
        with measure_peak_memory() as memory:
            model = fit_linear(
                examples,
                labels,
                tfidf=True,
                base=None if arm.run is None else self._features_of(arm.run),
                feature_runs=self.feature_runs.readers(arm.feature_runs),
                auxiliary=self.auxiliary_tables.auxiliary if arm.auxiliary else None,
                seed=cell.seed,
            )
            seconds = time.perf_counter() - began
            probabilities = model.probabilities(texts)
        if (arm.run is not None or arm.auxiliary) and cell.is_full:
            self._keep(cell, model, examples, folder)
        return CellResult(
            probabilities=_rounded(probabilities),
            validation=model.settings.accuracy,
            seconds=round(seconds, 1),
            memory_bytes=memory.peak,
            parameters=model.weights.size + model.bias.size,
        )

    def _keep(
        self, cell: Cell, model: LinearClassifier, examples: Sequence[Example], folder: Path
    ) -> None:
        """A model with a base or companions can be predicted with as any other run."""
        with OutputFolder(folder, overwrite=True) as taken:
            write_linear_run(
                taken.path,
                model,
                self.parts.labels,
                parent=cell.arm.run,
                feature_runs=cell.arm.feature_runs,
                threads=torch.get_num_threads(),
                data={
                    "train": data_hash(examples),
                    **(self.auxiliary_tables.hashes if cell.arm.auxiliary else {}),
                },
                result={"accuracy": model.settings.accuracy, "c": model.settings.c},
            )

    def _features_of(self, run: RunDirectory) -> FeatureCache:
        if run.path not in self._features:
            self._features[run.path] = FeatureCache(run)
        return self._features[run.path]


def check_transfer(cell: Cell, result: CellResult, base: str) -> None:
    """A pretrained arm begins with its base, to the last bit; a scratch arm does not."""
    is_there = result.initial_base == base
    if is_there == (cell.arm.kind in ("pretrained", "frozen")):
        return
    raise MismatchError(
        f"{cell.name}: the pretraining was "
        + ("not in the model at its first step." if not is_there else "in the scratch arm too."),
        expected=f"a base with hash {base[:12]}" + ("" if not is_there else ", in other arms only"),
        found=f"{(result.initial_base or 'none')[:12]}",
        hint="the comparison would be worthless; please report it with the study's folder",
    )


def check_pairing(results: Mapping[Cell, CellResult]) -> None:
    """With one seed, the base and the same from scratch begin with the same head, to the bit."""
    heads: dict[tuple[int, int], set[str | None]] = {}
    for cell, result in results.items():
        if cell.arm.name in (PRETRAINED, SCRATCH):
            heads.setdefault((cell.labels, cell.seed), set()).add(result.initial_head)
    unequal = [seed for (_, seed), hashes in heads.items() if len(hashes) > 1]
    if unequal:
        raise MismatchError(
            f"The arms of seed {unequal[0]} did not begin with the same head.",
            expected="paired arms: one head for both",
            found="two",
            hint="the comparison would not be paired; please report it with the study's folder",
        )


def is_begun(folder: Path) -> bool:
    """Whether a run was begun there."""
    return (folder / RUN_FILE).exists()


def _rounded(probabilities: np.ndarray) -> list[list[float]]:
    return [[round(float(share), DIGITS) for share in row] for row in probabilities]
