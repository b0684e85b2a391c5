"""Arms that fine-tune a transformer: what pretrained, scratch and frozen arms have in common."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from torch import Tensor

from greffe.config.options import Output, Tables
from greffe.inference.predict import predict
from greffe.machine import measure_peak_memory
from greffe.model.model import Model, build_model
from greffe.model.weights import cut_positions
from greffe.pipelines.finetune import finetune
from greffe.pipelines.finetune_recipe import Start, classification_of
from greffe.run import RunDirectory
from greffe.study.arms.arm import Cell, TrainedArm
from greffe.study.cell_inputs import CellInputs, cell_recipe, cell_training
from greffe.study.folder import CellResult, EpochEvaluation, rounded
from greffe.study.layer_changes import PartMove, layer_moves
from greffe.study.parts import labelled_subset
from greffe.training.checkpoint import load_model, load_tokenizer, run_weights
from greffe.training.collapse import Restarted
from greffe.training.device import Compute, choose_device


class FinetunedArm(TrainedArm):
    """A transformer, fine-tuned with the study's recipe."""

    weight_per_label = 1.0
    changes = ()
    """Changes to the recipe, before the user's own."""

    @property
    def model_run(self) -> RunDirectory:
        """The run that provides weights or architecture."""
        assert self.run is not None
        return self.run

    def key_inputs(self, inputs: CellInputs, seed: int) -> list[object]:
        """Return the hash of the weights, the tokenizer, the directions and the recipe.

        An arm from scratch takes none of the weights, but reads the way its model did.
        """
        manifest = self.model_run.manifest()
        return [
            inputs.weights_hash(self.model_run) if self.uses_weights else None,
            manifest.lineage.tokenizer,
            manifest.directions,
            cell_recipe(self.model_run, inputs.training, seed, self.changes).to_toml(),
        ]

    def compute(self, cell: Cell, inputs: CellInputs, folder: Path, *, resume: bool) -> CellResult:
        """Fine-tune, then predict the test texts."""
        train, valid = labelled_subset(inputs.parts, cell.labels, cell.seed)
        with measure_peak_memory() as memory:
            run = finetune(
                Tables(data=train, valid=valid),
                Output(out=folder, overwrite=not resume, resume=resume),
                start=Start(
                    parent=self.model_run if self.uses_weights else None,
                    like=None if self.uses_weights else self.model_run,
                    new_head=True,
                ),
                training=cell_training(inputs.training, cell.seed, self.changes),
                calibrates=False,
            )
        manifest = run.manifest()
        is_probe = classification_of(run.recipe()).start == "probe"
        model = _as_trained(run)
        predictions = predict(
            model,
            load_tokenizer(run),
            manifest.labels,
            (example.text for example in inputs.parts.test),
            causal=manifest.direction == "causal",
        )
        probabilities = [list(prediction.probabilities.values()) for prediction in predictions]
        return CellResult(
            probabilities=rounded(np.array(probabilities)),
            validation=manifest.result.get("accuracy"),
            evaluations=_evaluations(run),
            seconds=manifest.figure("seconds"),
            tokens=int(manifest.figure("tokens")),
            memory_bytes=memory.peak,
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            initial_base=manifest.lineage.initial_base,
            # A probe depends on its base: arms that are compared begin with different ones.
            initial_head=None if is_probe else manifest.lineage.initial_head,
            moves=self._moves(run) if cell.is_full else [],
            restarted=Restarted.of_result(manifest.result),
        )

    def _moves(self, run: RunDirectory) -> list[PartMove]:
        recipe, manifest = run.recipe(), run.manifest()
        before: Mapping[str, Tensor]
        if self.uses_weights:
            before = cut_positions(run_weights(self.model_run)[0], recipe.model.context)
        else:
            before = build_model(recipe.model, manifest.vocab, {}, recipe.seed).state_dict()
        after, _ = run_weights(run)
        return layer_moves(before, after)


def _as_trained(run: RunDirectory) -> Model:
    """Return the model on the device and in the precision that it was trained with."""
    device = choose_device(run.recipe().train.device)
    return Compute(device, run.manifest().lineage.precision).place(load_model(run))


def _evaluations(run: RunDirectory) -> list[EpochEvaluation]:
    return [
        EpochEvaluation(epoch=line["epoch"], accuracy=line["accuracy"], log_loss=line["log_loss"])
        for line in run.metrics()
        if line.get("kind") == "valid"
        and all(line.get(name) is not None for name in ("epoch", "accuracy", "log_loss"))
    ]
