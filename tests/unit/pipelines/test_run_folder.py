"""Checks before a run is resumed: the same recipe, the same data, and not yet finished."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from greffe.config.options import Output
from greffe.config.recipe import Recipe
from greffe.errors import MismatchError, RecipeError, RunError
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.weights import save_tensors
from greffe.output_folder import OutputFolder
from greffe.pipelines.run_folder import (
    begin_folder,
    check_disk,
    check_same_data,
    check_same_recipe,
    flatten,
    is_finished,
    run_folder,
)
from greffe.run import RUN_FILE, Manifest, RunDirectory, new_lineage
from greffe.training.distributed import World

DATA = {"train": "a" * 64, "valid": "b" * 64}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run that has started."""
    made = RunDirectory(tmp_path / "run")
    made.path.mkdir()
    made.write_recipe(Recipe())
    made.write_manifest(
        Manifest(
            kind="language-model",
            status="training",
            vocab=300,
            heads={"next_token": NextTokenHead()},
            directions=["causal"],
            lineage=new_lineage(threads=1, initial_base="", tokenizer="", data=DATA),
        )
    )
    return made


def finish(run: RunDirectory) -> None:
    digest = save_tensors(run.weights_path, {"base.embedding.weight": torch.zeros(1)})
    update = {"status": "finished", "weights": digest}
    run.write_manifest(run.manifest().model_copy(update=update))


def test_the_name_of_a_recipe_does_not_matter(run: RunDirectory) -> None:
    check_same_recipe(run, Recipe(name="other"))


def test_changed_values_are_listed_with_both_values(run: RunDirectory) -> None:
    with pytest.raises(RecipeError, match="another recipe") as caught:
        check_same_recipe(run, Recipe().with_changes(["train.lr=0.5", "seed=3"]))
    assert caught.value.found == "seed was 0, now 3; train.lr was 0.001, now 0.5"
    with pytest.raises(RecipeError, match="another recipe") as caught:
        check_same_recipe(run, Recipe().with_changes(["objective.kind=causal"]))
    assert "objective.kind was 'masked', now 'causal'" in str(caught.value)
    assert "objective.ratio was 0.15, now None" in str(caught.value)


def test_other_data_is_an_error(run: RunDirectory) -> None:
    check_same_data(run, dict(reversed(DATA.items())))
    for data in ({**DATA, "valid": "c" * 64}, {"train": DATA["train"]}):
        with pytest.raises(MismatchError, match="other data") as caught:
            check_same_data(run, data)
        assert "valid bbbb" in str(caught.value) and "train" not in str(caught.value.found)


def test_a_run_without_a_manifest_may_change(tmp_path: Path) -> None:
    """The process was killed while it prepared the text."""
    run = RunDirectory(tmp_path)
    run.write_recipe(Recipe())
    check_same_recipe(run, Recipe(seed=5))
    check_same_data(run, DATA)
    assert not is_finished(run, Recipe(), World())


def test_a_finished_run_prints_a_notice(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not is_finished(run, Recipe(), World())
    assert capsys.readouterr().err == ""
    finish(run)
    assert is_finished(run, Recipe(), World())
    assert "already finished" in capsys.readouterr().err


def test_a_finished_run_is_completed(run: RunDirectory) -> None:
    """The process was killed after the manifest, before its last steps."""
    for name in ("checkpoints/step-00000003", "soup/1"):
        (run.path / name).mkdir(parents=True)
    finish(run)
    assert is_finished(run, Recipe(), World(rank=1, size=2))
    assert (run.path / "soup").exists()  # left to the first rank
    assert is_finished(run, Recipe(), World())
    names = {path.name for path in run.path.iterdir()}
    assert names == {"README.md", "recipe.toml", "run.json", "weights.safetensors"}


def test_a_folder_left_before_its_manifest_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt), run_folder(Output(out=path), World()) as folder:
        begin_folder(folder, World())
        RunDirectory(path).write_recipe(Recipe())
        raise KeyboardInterrupt
    with run_folder(Output(out=path, resume=True), World()) as folder:
        assert folder.resuming


def test_flatten_has_no_nested_values() -> None:
    flat = flatten(Recipe())
    assert flat["model.position.base"] == 10_000.0
    assert flat["train.betas"] == [0.9, 0.98]
    assert not any(isinstance(value, dict) for value in flat.values())


def test_space_is_checked_for_new_folders_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=8_000))
    new = OutputFolder(tmp_path / "new")
    check_disk(new, 1_000)
    with pytest.raises(RunError, match="too full"):
        check_disk(new, 1_001)
    (tmp_path / RUN_FILE).write_text("{}")
    check_disk(OutputFolder(tmp_path, overwrite=True), 1_001)
