"""The folder a run is written to, and the checks before a run is resumed in it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from greffe.config.options import Output
from greffe.config.recipe import Recipe
from greffe.data.tokenizer import Tokenizer
from greffe.errors import MismatchError, RecipeError
from greffe.output_folder import OutputFolder
from greffe.pipelines.model_card import write_model_card
from greffe.progress import notice
from greffe.run import (
    CHECKPOINTS,
    INTERMEDIATE,
    RECIPE_FILE,
    RESTARTS,
    RUN_FILE,
    SOUP,
    Manifest,
    RunDirectory,
)
from greffe.storage import check_space
from greffe.training.distributed import World

WEIGHT_BYTES = 4
FREE_KEYS = ("name", "train.device", "train.precision")
"""What a resumed run may say otherwise: device and precision are compared with the lineage."""


def run_folder(output: Output, world: World, sources: Sequence[str | Path] = ()) -> OutputFolder:
    """Return the output folder of a run: the same on every rank, written by the first."""
    folder = OutputFolder(
        output.out,
        markers=(RUN_FILE,),
        sources=sources,
        overwrite=output.overwrite,
        resume=output.resume,
        is_main=world.is_main,
    )
    world.barrier()
    return folder


def check_disk(folder: OutputFolder, parameters: int) -> None:
    """Raise an error if a new folder has no space for a checkpoint and the final weights.

    More may be needed for the optimizer's state. What an older run in the folder takes is not
    counted: such a folder is not checked.
    """
    if not folder.is_ours:
        check_space(folder.path, 2 * WEIGHT_BYTES * parameters)


def begin_folder(folder: OutputFolder, world: World) -> None:
    """Begin the work in a run's folder, before any rank reads what is in it."""
    folder.begin()
    world.barrier()


def begin_run(run: RunDirectory, recipe: Recipe, tokenizer: Tokenizer, manifest: Manifest) -> None:
    """Write the recipe, the tokenizer and, last, the manifest, which makes the folder a run."""
    run.write_recipe(recipe)
    tokenizer.save(run.tokenizer_path)
    run.write_manifest(manifest)


def training_folder(run: RunDirectory, part: str, number: int, world: World) -> RunDirectory:
    """Return the folder of a further training of a run; its manifest is the run's."""
    folder = RunDirectory(run.path / part / str(number))
    if world.is_main and not (folder.path / RUN_FILE).exists():
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.write_manifest(run.manifest())
    world.barrier()
    return folder


def complete_run(run: RunDirectory) -> None:
    """Remove what a finished run no longer needs, and write its model card."""
    for name in (CHECKPOINTS, SOUP, RESTARTS):
        shutil.rmtree(run.path / name, ignore_errors=True)
    write_model_card(run)


def is_finished(
    run: RunDirectory, recipe: Recipe, world: World, data: dict[str, str] | None = None
) -> bool:
    """Return True, with a notice, if the run is finished; it must have this recipe and this data.

    The process that finished it may have been killed before its last steps, which are done here.
    """
    if not (run.path / RUN_FILE).exists() or run.manifest().status != "finished":
        return False
    check_same_recipe(run, recipe.with_vocab(run.recipe().tokenizer.vocab))
    if data is not None:
        check_same_data(run, data)
    if world.is_main:
        complete_run(run)
    notice(f"{run.path} is already finished, nothing to do")
    return True


def check_same_recipe(run: RunDirectory, recipe: Recipe) -> None:
    """Raise an error unless a resumed run has the recipe that it was started with."""
    if not (run.path / RUN_FILE).exists():
        return
    before, now = flatten(run.recipe()), flatten(recipe)
    changed = [
        f"{key} was {before.get(key)!r}, now {now.get(key)!r}"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key) and key not in FREE_KEYS
    ]
    if changed:
        raise RecipeError(
            f"{run.path} was started with another recipe and cannot be resumed with this one.",
            expected=f"the values in {run.path / RECIPE_FILE}",
            found="; ".join(changed[:5]) + (", and more" if len(changed) > 5 else ""),
            hint="resume with the same flags, start again with --overwrite, or continue from its "
            f"weights in a new run with --from {run.path}",
        )


def check_same_data(run: RunDirectory, data: dict[str, str]) -> None:
    """Raise an error unless a resumed run has the data that it was started with."""
    if not (run.path / RUN_FILE).exists():
        return
    before = run.manifest().lineage.data
    changed = sorted(name for name in before | data if before.get(name) != data.get(name))
    if changed:
        raise MismatchError(
            f"{run.path} was started with other data and cannot be resumed with this.",
            expected=", ".join(f"{name} {before.get(name, 'none')[:12]}" for name in changed),
            found=", ".join(f"{name} {data.get(name, 'none')[:12]}" for name in changed),
            hint="resume with the same files, or start again with --overwrite",
        )


def check_same_stages(run: RunDirectory, *, aux_data: bool) -> None:
    """Raise an error if --aux-data is given to a run that was started without it, or is missing."""
    intermediate = RunDirectory(run.path / INTERMEDIATE)
    is_intermediate = (intermediate.path / RUN_FILE).exists()
    if (run.path / RUN_FILE).exists():
        parent_weights = run.manifest().lineage.parent_weights
        is_intermediate = is_intermediate and parent_weights == intermediate.manifest().weights
    elif aux_data:
        return  # the intermediate fine-tuning is still to come
    if is_intermediate == aux_data:
        return
    before, now = ("without", "with") if aux_data else ("with", "without")
    raise MismatchError(
        f"{run.path} was started {before} --aux-data and cannot be resumed {now} it.",
        expected=f"the same command {before} --aux-data",
        found=f"{now} --aux-data",
        hint="resume with the same flags, start again with --overwrite, or choose another --out",
    )


def flatten(recipe: Recipe) -> dict[str, Any]:
    """Return the recipe as `{"train.lr": 0.001, …}`."""
    result: dict[str, Any] = {}

    def visit(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, child in value.items():
                visit(f"{prefix}.{key}" if prefix else key, child)
        else:
            result[prefix] = value

    visit("", recipe.model_dump(mode="json"))
    return result
