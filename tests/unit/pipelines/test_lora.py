"""LoRA in trainings: a finished run is a plain one, whichever way it came about."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch

from greffe.config.option_groups import flat_keywords
from greffe.config.recipe_files import load_recipe
from greffe.data.tables import Example
from greffe.errors import RecipeError
from greffe.model.adapters import is_adapter
from greffe.model.weights import base_hash, load_tensors
from greffe.pipelines import finetune as finetune_module
from greffe.pipelines import intermediate as intermediate_module
from greffe.pipelines import pretrain as pretrain_module
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.samples.toy import toy_documents, toy_reviews
from greffe.training.checkpoint import last_checkpoint, load_model, run_weights

finetune = flat_keywords(finetune_module.finetune)
finetune_intermediate = flat_keywords(intermediate_module.finetune_intermediate)
pretrain = flat_keywords(pretrain_module.pretrain)

TABLE = [Example(text, label) for label, text in toy_reviews(24, seed=1)]
LABELS = sorted({example.label for example in TABLE})
LORA = ["train.threads=1", "finetune.lora.rank=4"]
SHORT: dict[str, Any] = {"budget": "6steps", "changes": LORA}
Interrupted = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def parent(fresh_run: Callable[..., RunDirectory]) -> RunDirectory:
    return fresh_run("parent")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(toy_documents(120, seed=0)), "utf-8")
    return path


def test_a_finished_run_is_a_plain_run(
    parent: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = finetune(TABLE, tmp_path / "run", parent=parent, **SHORT)
    shown = capsys.readouterr().err
    assert "LoRA trains 418 parameters" in shown
    assert "1 × 4 × (16 + 48) (qkv) + 1 × 4 × (16 + 16) (out) + 34 (heads)" in shown
    assert run.manifest().lineage.initial_base == base_hash(load_model(parent))
    before, after = run_weights(parent)[0], run_weights(run)[0]
    assert {name for name in before if not torch.equal(before[name], after[name])} == {
        "base.blocks.0.attention.qkv.weight",
        "base.blocks.0.attention.out.weight",
    }
    change = (
        after["base.blocks.0.attention.qkv.weight"] - before["base.blocks.0.attention.qkv.weight"]
    )
    # The residue is the rounding of the sum.
    assert torch.linalg.svdvals(change)[4:].max() < 1e-5 < torch.linalg.svdvals(change)[0]


def test_show_says_what_was_trained(
    parent: RunDirectory, tmp_path: Path, command: Callable[..., Any]
) -> None:
    with quiet():
        run = finetune(TABLE, tmp_path / "run", parent=parent, **SHORT)
    assert "LoRA trained 418 parameters: 1 × 4 × (16 + 48) (qkv)" in command("show", run.path).out
    assert json.loads(command("show", run.path, "--json").out)["lora"]["trained"] == 418
    assert "lora" not in json.loads(command("show", parent.path, "--json").out)


def test_an_interrupted_run_can_be_used_and_resumes_exactly(
    parent: RunDirectory, tmp_path: Path, interrupted: Interrupted
) -> None:
    dropout = {**SHORT, "changes": [*LORA, "finetune.lora.dropout=0.2", "train.keep=last"]}
    with quiet():
        with interrupted():
            finetune(TABLE, tmp_path / "run", parent=parent, **dropout)
        run = RunDirectory(tmp_path / "run")
        checkpoint = last_checkpoint(run.checkpoints_path)
        assert checkpoint is not None
        saved = load_tensors(checkpoint / "weights.safetensors")
        moments = load_tensors(checkpoint / "optimizer.safetensors")
        weights, _ = run_weights(run)
        resumed = finetune(TABLE, tmp_path / "run", parent=parent, **dropout, resume=True)
        whole = finetune(TABLE, tmp_path / "whole", parent=parent, **dropout)
    assert any(is_adapter(name) for name in saved)
    assert {name.split(".")[0] for name in moments if not is_adapter(name.split("/")[0])} == {
        "heads"
    }
    assert not any(is_adapter(name) for name in weights)
    assert not torch.equal(
        weights["base.blocks.0.attention.qkv.weight"], saved["base.blocks.0.attention.qkv.weight"]
    )
    assert resumed.manifest().weights == whole.manifest().weights is not None


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_it_learns_what_a_head_alone_does_not(
    parent: RunDirectory, tmp_path: Path, precision: str
) -> None:
    """The head reads the last token, and the base has fresh weights: attention must learn."""
    examples = [
        Example(f"{subject} {verb} {word} et je le relirai", label)
        for subject in ("Ce livre", "Ce roman", "Le film", "Cette histoire", "Le récit", "Un livre")
        for verb in ("est", "était", "semble", "reste")
        for word, label in (("magnifique", "1"), ("ennuyeux", "0"), ("beau", "1"), ("triste", "0"))
    ]
    rates = ["train.lr=0.02", "train.batch=8", "train.layer_decay=1.0"]
    changes = [*LORA, *rates, f"train.precision={precision}"]
    texts = {"valid": examples[72:], "parent": parent, "budget": "12epochs"}
    with quiet():
        run = finetune(examples[:72], tmp_path / "run", **texts, changes=changes)
        changes.append("train.freeze=base")  # then there are no adapters
        frozen = finetune(examples[:72], tmp_path / "frozen", **texts, changes=changes)
    before, after = run_weights(parent)[0], run_weights(frozen)[0]
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert frozen.manifest().figure("log_loss") > 0.5
    assert run.manifest().figure("log_loss") < 0.1


def test_the_best_weights_are_kept(
    parent: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Validated on the same texts with the other labels: what is learned makes it worse.
    other = dict(zip(LABELS, reversed(LABELS), strict=True))
    swapped = [Example(example.text, other[example.label]) for example in TABLE]
    changes = [*LORA, "train.lr=0.05", "train.evaluate_every=1steps"]
    choices: dict[str, Any] = {"parent": parent, "valid": swapped, "budget": "20steps"}
    best = finetune(TABLE, tmp_path / "best", changes=changes, **choices)
    assert "keeping the best weights" in capsys.readouterr().err
    with quiet():
        last = finetune(TABLE, tmp_path / "last", changes=[*changes, "train.keep=last"], **choices)
    assert best.manifest().result["best_step"] < 20
    assert best.manifest().weights != last.manifest().weights


def test_a_soup_is_the_average_of_merged_models(parent: RunDirectory, tmp_path: Path) -> None:
    with quiet():
        run = finetune(
            TABLE,
            tmp_path / "run",
            parent=parent,
            budget="4steps",
            changes=[*LORA, "train.soup=2", "train.lr=0.01"],
        )
    change = (
        run_weights(run)[0]["base.blocks.0.attention.qkv.weight"]
        - run_weights(parent)[0]["base.blocks.0.attention.qkv.weight"]
    )
    values = torch.linalg.svdvals(change)
    # Each model adds a matrix of rank 4; the average of both has the sum of the ranks.
    assert values[7] > 1e-6 > values[8]


def test_from_scratch_all_weights_are_trained(
    parent: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = finetune(TABLE, tmp_path / "run", like=parent, **SHORT)
    shown = capsys.readouterr().err
    assert "all weights are trained, without LoRA" in shown and "LoRA trains" not in shown
    assert run.recipe().train.lora.rank == 0


def test_both_stages_of_auxiliary_labels_use_it(parent: RunDirectory, tmp_path: Path) -> None:
    auxiliary = [Example(text, label) for label, text in toy_reviews(40, seed=5)]
    with quiet():
        first = finetune_intermediate(
            TABLE,
            tmp_path / "run",
            aux_data=[auxiliary],
            parent=parent,
            changes=[*LORA, 'finetune.lora.targets=["expand"]'],
        )
    assert first.run.recipe().train.lora.model_dump() == {
        "rank": 4,
        "alpha": 16.0,
        "targets": ("expand",),
        "dropout": 0.0,
    }
    before, after = run_weights(parent)[0], run_weights(first.run)[0]
    assert {name for name in before if not torch.equal(before[name], after[name])} == {
        "base.blocks.0.feed_forward.expand.weight"
    }


def test_pretraining_continues_with_it(text: Path, tmp_path: Path) -> None:
    short = {"recipe": "tiny", "budget": "3steps"}
    with quiet():
        base = pretrain(text, tmp_path / "base", changes=["train.threads=1"], **short)
        run = pretrain(
            text,
            tmp_path / "run",
            parent=base,
            budget="3steps",
            changes=["train.threads=1", "train.lora.rank=2"],
        )
    before, after = run_weights(base)[0], run_weights(run)[0]
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert {name.split(".")[-2] for name in changed if name.startswith("base.")} == {"qkv", "out"}
    assert any(name.startswith("heads.") for name in changed)


def test_a_new_base_has_nothing_to_adapt(text: Path, tmp_path: Path) -> None:
    recipe = load_recipe("tiny").with_changes(["train.lora.rank=2"])
    with pytest.raises(RecipeError, match="LoRA adapts a trained base"):
        pretrain(text, tmp_path / "run", recipe=recipe, budget="3steps")
    assert not (tmp_path / "run").exists()
