"""Fine-tuning: where its weights and its head come from, and what a resumed run must share."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import greffe
from greffe.config.option_groups import flat_keywords
from greffe.data.tables import Example
from greffe.errors import MismatchError, OutOfMemoryError, RecipeError
from greffe.model import memory
from greffe.model.memory import weights_need
from greffe.model.weights import base_hash, head_hash
from greffe.pipelines import finetune as finetune_module
from greffe.pipelines.members import HeldOut
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.training.checkpoint import TrainingState, load_model, load_tokenizer
from greffe.training.distributed import World

finetune = flat_keywords(finetune_module.finetune)

TABLE = [Example(text, label) for label, text in toy_reviews(24, seed=1)]
SHORT: dict[str, Any] = {"budget": "3steps", "changes": ["train.threads=1"]}


@pytest.fixture
def parent(fresh_run: Callable[..., RunDirectory]) -> RunDirectory:
    return fresh_run("parent")


def test_a_base_is_loaded_exactly_and_scratch_is_not(parent: RunDirectory, tmp_path: Path) -> None:
    with quiet():
        tuned = finetune(TABLE, tmp_path / "tuned", parent=parent, **SHORT)
        scratch = finetune(TABLE, tmp_path / "scratch", like=parent, seed=7, **SHORT)
    base = base_hash(load_model(parent))
    assert tuned.manifest().lineage.initial_base == base
    assert scratch.manifest().lineage.initial_base != base
    assert scratch.manifest().lineage.parent is None
    assert scratch.recipe().model == parent.recipe().model


RANK = """
import sys
from greffe.config.option_groups import flat_keywords
from greffe.data.tables import Example
from greffe.model.weights import base_hash
from greffe.pipelines import finetune as module
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.training.distributed import World

world, read = World.join(), module.run_weights

def read_another(run):
    weights, digest = read(run)
    return {name: tensor + world.rank for name, tensor in weights.items()}, digest

def show(run, members, *others):
    print(base_hash(members.model))
    sys.exit()

module.run_weights, module._train = read_another, show
table = [Example(text, label) for label, text in toy_reviews(24, seed=1)]
flat_keywords(module.finetune)(table, sys.argv[2], parent=RunDirectory(sys.argv[1]))
"""


def test_all_ranks_start_from_the_same_weights_of_a_parent_in_training(
    parent: RunDirectory, tmp_path: Path, two_ranks: Callable[..., list[tuple[str, str]]]
) -> None:
    outputs = two_ranks(RANK, str(parent.path), str(tmp_path / "out"))
    base = base_hash(load_model(parent))
    assert [found.strip() for found, _ in outputs] == [base, base]


@pytest.mark.parametrize("new_head", [False, True])
def test_the_head_of_the_same_task_is_kept_unless_a_new_one_is_asked_for(
    parent: RunDirectory, tmp_path: Path, new_head: bool
) -> None:
    with quiet():
        first = finetune(TABLE, tmp_path / "first", parent=parent, **SHORT)
        again = finetune(TABLE, tmp_path / "again", parent=first, new_head=new_head, **SHORT)
    is_kept = again.manifest().lineage.initial_head == head_hash(load_model(first))
    assert is_kept != new_head


def test_without_a_run_or_a_recipe_there_is_nothing_to_finetune(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="nothing to fine-tune"):
        finetune(TABLE, tmp_path / "run")


def test_a_run_resumes_with_the_same_data(
    parent: RunDirectory,
    tmp_path: Path,
    interrupted: Callable[[], AbstractContextManager[None]],
) -> None:
    with quiet():
        with interrupted():
            finetune(TABLE, tmp_path / "run", parent=parent, **SHORT)
        with pytest.raises(MismatchError, match="other data"):
            finetune(TABLE[:-2], tmp_path / "run", parent=parent, **SHORT, resume=True)
        resumed = finetune(TABLE, tmp_path / "run", parent=parent, **SHORT, resume=True)
        whole = finetune(TABLE, tmp_path / "whole", parent=parent, **SHORT)
    assert resumed.manifest().weights == whole.manifest().weights is not None


def test_a_finished_run_is_not_the_result_of_other_data(
    parent: RunDirectory, tmp_path: Path
) -> None:
    with quiet():
        run = finetune(TABLE, tmp_path / "run", parent=parent, **SHORT)
        finetune(TABLE, run.path, parent=parent, **SHORT, resume=True)
        with pytest.raises(MismatchError, match="other data"):
            finetune(TABLE[:-2], run.path, parent=parent, **SHORT, resume=True)


def test_scores_that_are_not_finite_are_never_the_best(
    parent: RunDirectory, tmp_path: Path
) -> None:
    with quiet():
        run = finetune(TABLE, tmp_path / "run", parent=parent, **SHORT)
    model, tokenizer = load_model(run), load_tokenizer(run)
    labels = run.manifest().labels
    held_out = HeldOut(model, tokenizer, labels, TABLE[:6], causal=False, world=World())
    found = held_out.evaluate(TrainingState(tokenizer=""))
    assert 0 <= found.metrics["accuracy"] <= 1 and np.isfinite(found.score)
    with torch.no_grad():
        next(iter(model.heads.parameters())).fill_(float("nan"))
    assert not np.isfinite(held_out.evaluate(TrainingState(tokenizer="")).score)


def test_ranks_share_the_validation(parent: RunDirectory, tmp_path: Path) -> None:
    with quiet():
        run = finetune(TABLE, tmp_path / "run", parent=parent, **SHORT)
    model, tokenizer = load_model(run), load_tokenizer(run)

    class Unsummed(World):
        def sum_array(self, values):
            return values

    long = [
        Example(f"{one.text} " * 3 * (number % 3), one.label) for number, one in enumerate(TABLE)
    ]

    def share(world: World) -> HeldOut:
        return HeldOut(model, tokenizer, run.manifest().labels, long[:5], causal=False, world=world)

    ranks = [share(Unsummed(rank, 8)) for rank in range(8)]
    parts = [rank._probabilities() for rank in ranks]
    assert [int((part.sum(axis=1) > 0).sum()) for part in parts] == [1, 1, 1, 1, 1, 0, 0, 0]
    np.testing.assert_allclose(sum(parts), share(World())._probabilities(), rtol=1e-5)
    logits, alone = [rank._logits() for rank in ranks], share(World())._logits()
    assert len(alone) > 5  # some texts have several windows
    assert [int((part != 0).any(axis=1).sum()) for part in logits[5:]] == [0, 0, 0]
    np.testing.assert_allclose(sum(logits), alone, rtol=1e-4)


def test_a_run_is_calibrated_on_its_validation_texts(
    parent: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    valid = [Example(text, label) for label, text in toy_reviews(20, seed=8)]
    run = finetune(TABLE, tmp_path / "run", parent=parent, valid=valid, **SHORT)
    found = run.manifest().calibration
    assert found is not None and found.texts == 20
    assert capsys.readouterr().err.count(f"calibration: {found.describe()}") == 1
    opened = greffe.load(run.path, precision="fp32")
    with quiet():
        plain = opened.evaluate(valid)
        scaled = opened.evaluate(valid, calibrated=True)
    assert plain.log_loss == pytest.approx(found.log_loss_before, rel=1e-5)
    assert plain.log_loss == pytest.approx(run.manifest().result["log_loss"], rel=1e-5)
    assert scaled.log_loss == pytest.approx(found.log_loss_after, rel=1e-5)
    assert scaled.calibration_error == pytest.approx(found.ece_after, abs=1e-4)


def test_a_training_of_a_study_is_not_calibrated(parent: RunDirectory, tmp_path: Path) -> None:
    with quiet():
        run = finetune(TABLE, tmp_path / "run", parent=parent, calibrates=False, **SHORT)
    assert run.manifest().calibration is None
    assert "calibration" not in json.loads((run.path / "run.json").read_bytes())


def test_what_does_not_fit_is_refused(
    parent: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with quiet():
        run = finetune(TABLE, tmp_path / "run", parent=parent, **SHORT)
        before = run.manifest()
        monkeypatch.setattr(memory, "available_memory", lambda: 10**6)
        with pytest.raises(OutOfMemoryError, match="This training needs"):
            finetune(TABLE, tmp_path / "run", parent=parent, overwrite=True, **SHORT)
        assert run.manifest() == before
        # Long texts in a large batch, which are known once they are encoded.
        long = [Example(" ".join([e.text] * 20), e.label) for e in TABLE]
        weights = weights_need(parent.recipe().model, parent.manifest().vocab, []).total
        most = memory.LIBRARIES + 4 * weights + 5 * 10**5
        monkeypatch.setattr(memory, "CERTAIN", 1.0)
        monkeypatch.setattr(memory, "available_memory", lambda: most)
        changes = ["train.threads=1", "train.batch=24"]
        with pytest.raises(OutOfMemoryError, match="This training needs") as caught:
            finetune(long, tmp_path / "long", parent=parent, budget="1steps", changes=changes)
        assert "train.accumulation=" in str(caught.value.hint)
        assert not (tmp_path / "long").exists()


def test_a_model_that_does_not_fit_is_not_loaded(
    parent: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(OutOfMemoryError, match="This model needs"):
        load_model(parent)
