"""Fine-tuned arms: which weights they start from, and what their results depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from greffe.inference.predict import predict
from greffe.inference.prediction import Prediction
from greffe.model.model import Model
from greffe.run import RunDirectory
from greffe.study.arms import Cell
from greffe.study.arms.finetuned import FinetunedArm
from greffe.study.arms.frozen_arm import FrozenArm
from greffe.study.arms.pretrained_arm import PretrainedArm
from greffe.study.arms.scratch_arm import ScratchArm
from greffe.study.cell_compute import with_compute
from greffe.study.cell_inputs import CellInputs
from greffe.study.cells import check_pairing
from greffe.study.folder import CellResult
from greffe.training.device import Compute, Precision

FreshRun = Callable[..., RunDirectory]


def test_only_the_base_differs_before_the_first_step(
    fresh_run: FreshRun, inputs: CellInputs, compute: Callable[..., CellResult]
) -> None:
    base = fresh_run("base")
    pretrained, scratch = (
        compute(arm) for arm in (PretrainedArm("pretrained", base), ScratchArm("scratch", base))
    )
    assert pretrained.initial_base == inputs.base_hash(base) != scratch.initial_base
    assert pretrained.initial_head == scratch.initial_head
    for result in (pretrained, scratch):
        assert len(result.probabilities) == len(inputs.parts.test)
        assert result.tokens > 0 and result.evaluations
        assert any(move.moved > 0 for move in result.moves)


def test_probes_of_different_bases_are_no_error_in_a_pairing(
    fresh_run: FreshRun, inputs: CellInputs, compute: Callable[..., CellResult]
) -> None:
    probe = "classification.start=probe"
    inputs.training = replace(inputs.training, changes=[*inputs.training.changes, probe])
    base = fresh_run("base")
    arms: list[FinetunedArm] = [PretrainedArm("pretrained", base), ScratchArm("scratch", base)]
    results = {Cell(arm, 20, 1, is_full=True): compute(arm) for arm in arms}
    check_pairing(results, [arm.name for arm in arms])


def test_lora_is_for_arms_that_train_a_pretrained_base(
    fresh_run: FreshRun, inputs: CellInputs, compute: Callable[..., CellResult], tmp_path: Path
) -> None:
    inputs.training = replace(
        inputs.training, changes=[*inputs.training.changes, "finetune.lora.rank=2"]
    )
    base = fresh_run("base")
    arms = (PretrainedArm("pretrained", base), FrozenArm("frozen", base), ScratchArm("new", base))
    results = {arm.name: compute(arm) for arm in arms}
    moved = {
        name: {move.part for move in result.moves if move.moved > 0}
        for name, result in results.items()
    }
    assert moved["frozen"] == set()
    assert moved["pretrained"] and moved["pretrained"] < moved["new"]
    assert results["pretrained"].initial_base == inputs.base_hash(base)
    assert RunDirectory(tmp_path / "new").recipe().train.lora.rank == 0
    assert len({result.parameters for result in results.values()}) == 1


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_test_texts_are_predicted_in_the_precision_of_the_training(
    fresh_run: FreshRun,
    inputs: CellInputs,
    compute: Callable[..., CellResult],
    monkeypatch: pytest.MonkeyPatch,
    precision: Precision,
) -> None:
    used = []

    def watched(model: Model, *args: Any, **more: Any) -> Iterator[Prediction]:
        used.append(model.base.dtype)
        return predict(model, *args, **more)

    monkeypatch.setattr("greffe.study.arms.finetuned.predict", watched)
    inputs.training = with_compute(inputs.training, Compute(torch.device("cpu"), precision))
    compute(PretrainedArm("pretrained", fresh_run("base")))
    assert used == [torch.bfloat16 if precision == "bf16" else None]


@pytest.mark.parametrize("kind", [PretrainedArm, FrozenArm, ScratchArm])
def test_the_key_depends_on_seed_and_training(
    kind: type[FinetunedArm], fresh_run: FreshRun, inputs: CellInputs
) -> None:
    arm = kind(kind.kind, fresh_run("base"))
    longer = replace(inputs, training=replace(inputs.training, budget="3steps"))
    first, again, reseeded, retrained = (
        str(arm.key_inputs(given, seed))
        for given, seed in ((inputs, 1), (inputs, 1), (inputs, 2), (longer, 1))
    )
    assert first == again
    assert len({first, reseeded, retrained}) == 3
