"""Trainings that diverge end with an error, and weights that are not finite are never used."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest
from tests.e2e.test_bad_input import FINETUNE, PRETRAIN, fill, refuse

import greffe
from greffe.errors import DivergedError
from greffe.model.weights import load_tensors, save_tensors
from greffe.objectives.objective import LanguageSpec
from greffe.pipelines import intermediate
from greffe.progress import quiet
from greffe.run import WEIGHTS_FILE, RunDirectory
from greffe.study.folder import StudyDirectory
from greffe.training.checkpoint import last_checkpoint

DIVERGING = ["train.lr=1e20", "train.warmup=0", "train.threads=1"]
FLAGS = "".join(f" --set {change}" for change in DIVERGING)


def is_unfinished(run: Path) -> bool:
    """Return whether the folder is a run that was started and has no result."""
    has_weights = (run / WEIGHTS_FILE).exists()
    return RunDirectory(run).manifest().status == "training" and not has_weights


@pytest.mark.parametrize("choices", ["", " --set train.keep=last", " --soup 2"])
@pytest.mark.parametrize("steps", [1, 8])
def test_a_fine_tuning_that_diverges_is_an_error(command, world, tmp_path, steps, choices):
    words = f"{{train}} --valid {{valid}} --budget {steps}steps{FLAGS}{choices}"
    outcome = command(*fill(FINETUNE + words, world, tmp_path))
    refuse(outcome, "not finite", "no checkpoint", "--set train.lr=", code=4)
    assert is_unfinished(tmp_path / "out")
    refuse(command("predict", tmp_path / "out", "un texte"), "no weights yet", code=3)


@pytest.mark.parametrize("objective", LanguageSpec.kinds())
def test_a_pretraining_that_diverges_is_an_error(command, world, tmp_path, objective):
    words = f"--objective {objective} --budget 6steps{FLAGS}"
    outcome = command(*fill(PRETRAIN + words, world, tmp_path))
    refuse(outcome, "not finite", "--set train.lr=", code=4)
    assert is_unfinished(tmp_path / "out")


def test_without_validation_the_last_loss_decides(command, world, tmp_path):
    words = ["pretrain", world.text, "--valid", "0", "--recipe", "tiny", "--budget", "4steps"]
    outcome = command(*words, "--out", tmp_path / "out", *FLAGS.split())
    refuse(outcome, "not finite", "step, 4", code=4)
    assert is_unfinished(tmp_path / "out")


def test_a_diverged_run_resumes_from_its_last_good_checkpoint(command, world, tmp_path):
    every_step = " --set train.checkpoint_every=1steps --set train.evaluate_every=3steps"
    words = fill(f"{FINETUNE}{{train}} --budget 8steps{FLAGS}{every_step}", world, tmp_path)
    first = command(*words)
    refuse(first, "not finite", "state of step", code=4)
    checkpoint = last_checkpoint(tmp_path / "out" / "checkpoints")
    again = command(*words, "--resume")
    refuse(again, *first.err.splitlines()[-4:], code=4)
    assert last_checkpoint(tmp_path / "out" / "checkpoints") == checkpoint
    assert is_unfinished(tmp_path / "out")


def test_the_first_of_two_stages_diverges(world, tmp_path, monkeypatch):
    changed = intermediate._shared_changes
    monkeypatch.setattr(intermediate, "_shared_changes", lambda *args: changed(*args) + DIVERGING)
    with quiet(), pytest.raises(DivergedError):
        greffe.finetune(world.base, data=world.train, aux_data=[world.valid], out=tmp_path / "out")
    assert not (tmp_path / "out" / "intermediate" / WEIGHTS_FILE).exists()


def test_a_study_names_the_training_that_diverged_and_keeps_the_others(world, tmp_path):
    with quiet(), pytest.raises(DivergedError, match="pretrained, seed 1") as caught:
        greffe.compare(
            world.base,
            data=world.train,
            out=tmp_path / "study",
            seeds=1,
            budget="6steps",
            changes=DIVERGING,
        )
    assert "--set train.lr=" in str(caught.value)
    study = StudyDirectory(tmp_path / "study")
    assert study.manifest().status == "running"
    known = [study.cell(name) for name in study.manifest().cells]
    assert all(cell is None or cell.result is None or cell.result.probabilities for cell in known)


@pytest.mark.parametrize(
    "words",
    [
        "predict {bad} texte --format jsonl",
        "evaluate {bad} --data {valid}",
        "finetune --from {bad} --data {train} --out {out}",
        "linear --from {bad} --data {train} --out {out}",
        "linear --features-from {bad} --data {train} --out {out}",
        "ensemble {bad} {classifier} --out {out}",
        "compare {bad_base} --data {train} --out {out}",
        "compare {base} --features-from {bad} --data {train} --out {out}",
        "pretrain {corpus} --from {bad_base} --out {out}",
        "generate {bad_base} Bonjour",
        "fill {bad_base} Bonjour<mask>",
    ],
)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_not_finite_are_refused(command, world, tmp_path, words, value):
    source = world.base if "bad_base" in words else world.classifier
    outcome = command(*with_spoiled(source, value, words, world, tmp_path))
    refuse(outcome, "not finite", "base.final_norm.weight", code=3)
    assert outcome.out == ""


@pytest.mark.parametrize(
    "words",
    [
        "predict {bad} texte --format jsonl",
        "evaluate {bad} --data {valid}",
        "linear --features-from {bad} --data {train} --out {out}",
        "linear --from {bad} --data {train} --out {out}",
        "generate {bad_base} Bonjour",
        "fill {bad_base} Bonjour<mask>",
    ],
)
def test_finite_weights_that_overflow_give_no_results(command, world, tmp_path, words):
    source = world.base if "bad_base" in words else world.classifier
    outcome = command(*with_spoiled(source, 3e38, words, world, tmp_path))
    refuse(outcome, "not finite", code=3)
    assert outcome.out in ("", "Bonjour")  # generate prints its prompt first


def with_spoiled(run: Path, value: float, words: str, world, folder: Path) -> list[str]:
    """Return the words of a command, with a copy of the run whose weights were replaced.

    The hash is that of the replaced weights, as if a training had ended with them.
    """
    bad = RunDirectory(folder / "bad")
    shutil.copytree(run, bad.path)
    tensors = load_tensors(bad.weights_path)
    tensors["base.final_norm.weight"].fill_(value)
    digest = save_tensors(bad.weights_path, tensors)
    bad.write_manifest(bad.manifest().model_copy(update={"weights": digest}))
    return fill(words.replace("_base", "").replace("{bad}", str(bad.path)), world, folder)
