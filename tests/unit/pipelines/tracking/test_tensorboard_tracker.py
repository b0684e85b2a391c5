"""TensorBoard: its reader finds every figure of the log once, after a resumed training too."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tests.conftest import Command
from tests.unit.pipelines.tracking.tracking_helpers import (
    Resumed,
    expected_scalars,
    tensorboard_scalars,
)

from greffe.run import RunDirectory
from greffe.samples.toy import toy_documents


def test_a_resumed_run_has_every_step_once(resumed: Resumed) -> None:
    assert len(list((resumed.run.path / "tensorboard").iterdir())) == 2
    found = tensorboard_scalars(resumed.run)
    assert [step for step, _ in found["train/loss"]] == [1, 2, 3, 4, 5, 6]
    assert [step for step, _ in found["valid/accuracy"]] == [3, 6]
    assert {"train/lr", "train/gradient_norm", "train/tokens_per_second"} <= found.keys()
    assert found == expected_scalars(resumed.run)


def test_the_recipe_is_shown_as_text_and_as_hyperparameters(resumed: Resumed) -> None:
    events = EventAccumulator(str(resumed.run.path / "tensorboard"))
    events.Reload()
    (text,) = events.Tensors("recipe/text_summary")[-1].tensor_proto.string_val
    recipe = resumed.run.recipe()
    assert f"| train.lr | {recipe.train.lr} |" in text.decode()
    assert f"| (path) | {resumed.run.path} |" in text.decode()
    hyperparameters = events.SummaryMetadata("_hparams_/session_start_info").plugin_data
    assert b"train.lr" in hyperparameters.content


def test_pretraining_is_tracked_from_the_command_line(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(toy_documents(60, seed=0)), "utf-8")
    words = ("pretrain", "text.txt", "--recipe", "tiny", "--vocab", "400", "--valid", "0.2")
    small = ("--set", "model.width=16", "--set", "model.heads=2", "--set", "train.threads=1")
    outcome = command(*words, *small, "--budget", "3steps", "--track", "tensorboard", "--out", "a")
    assert outcome.code == 0
    run = RunDirectory("a")
    found = tensorboard_scalars(run)
    assert found == expected_scalars(run) and len(found["train/loss"]) == 3
    assert "valid/bits_per_byte" in found and "result/bits_per_byte" in found
