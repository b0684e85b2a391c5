"""Training state on disk, for resuming exactly, and the weights of runs. Atomic, never unpickles.

weights.safetensors                     what a finished run holds, in single or half precision
checkpoints/step-00001200/              all that is needed to go on from there
    weights.safetensors optimizer.safetensors state.json
checkpoints/best-00000800.safetensors   the best weights so far
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch
from pydantic import Field, ValidationError
from torch import Tensor

from greffe.config.recipe import Spec
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, MismatchError, RunError
from greffe.model.model import Model, empty_model
from greffe.model.weights import load_exact, load_tensors, save_tensors
from greffe.output_folder import OutputFolder
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.storage import disk_error, read_json, write_json

STATE_FILE = "state.json"
WEIGHTS = "weights.safetensors"
OPTIMIZER = "optimizer.safetensors"


class TrainingState(Spec):
    """Everything besides tensors that a resumed run must know."""

    tokenizer: str = ""
    """Fingerprint of the vocabulary that the weights are for."""
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    skipped: int = 0
    skipped_in_a_row: int = 0
    best_step: int | None = None
    best_score: float | None = None
    best_hash: str | None = None
    evaluations_without_better: int = 0
    compiled: bool = False
    """Whether torch.compile is in use: a resumed run computes the same way to the last digit."""
    last_evaluation: dict[str, Any] = Field(default_factory=dict)
    best_evaluation: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)


def _folder(step: int) -> str:
    return f"step-{step:08}"


def best_path(checkpoints: Path, step: int) -> Path:
    """Where the best weights of a step are."""
    return checkpoints / f"best-{step:08}.safetensors"


def save_checkpoint(
    checkpoints: Path, model: Model, optimizer: torch.optim.Optimizer, state: TrainingState
) -> None:
    """A complete new folder first, then the old ones go: at any moment one whole state exists."""
    final = checkpoints / _folder(state.step)
    temporary = checkpoints / f".{final.name}.{os.getpid()}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        files = {
            WEIGHTS: save_tensors(temporary / WEIGHTS, model.state_dict()),
            OPTIMIZER: save_tensors(temporary / OPTIMIZER, _optimizer_tensors(model, optimizer)),
        }
        complete = state.model_copy(update={"files": files})
        write_json(temporary / STATE_FILE, complete.model_dump(mode="json"))
        if final.exists():
            shutil.rmtree(final)
        temporary.replace(final)
    except OSError as error:
        raise disk_error(error, final) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    for other in checkpoints.glob("*step-*"):
        if other != final:
            shutil.rmtree(other, ignore_errors=True)
    _remove_bests(checkpoints, keep={state.best_step})


def save_best(checkpoints: Path, model: Model, step: int) -> str:
    """Keep these weights as the best; returns their hash.

    The best that the last checkpoint speaks of stays until the next one: after a crash it counts.
    """
    try:
        checkpoints.mkdir(exist_ok=True)
    except OSError as error:
        raise disk_error(error, checkpoints) from error
    digest = save_tensors(best_path(checkpoints, step), model.state_dict())
    last = last_checkpoint(checkpoints)
    _remove_bests(checkpoints, keep={step, read_state(last).best_step if last else None})
    return digest


def _remove_bests(checkpoints: Path, keep: set[int | None]) -> None:
    kept = {best_path(checkpoints, step) for step in keep if step is not None}
    for path in checkpoints.glob("best-*"):
        if path not in kept:
            path.unlink(missing_ok=True)


def last_checkpoint(checkpoints: Path) -> Path | None:
    """The newest complete checkpoint, if there is one."""
    found = sorted(checkpoints.glob("step-*")) if checkpoints.is_dir() else []
    return found[-1] if found else None


def read_state(folder: Path) -> TrainingState:
    """The state file of a checkpoint."""
    try:
        return TrainingState.model_validate(read_json(folder / STATE_FILE, "a training state"))
    except ValidationError as error:
        raise CorruptError(f"{folder / STATE_FILE} is damaged.", found=str(error)) from None


def load_checkpoint(folder: Path, model: Model, optimizer: torch.optim.Optimizer) -> TrainingState:
    """Put model and optimizer exactly where they were."""
    state = read_state(folder)
    load_exact(model, load_tensors(folder / WEIGHTS, state.files.get(WEIGHTS)), str(folder))
    moments = load_tensors(folder / OPTIMIZER, state.files.get(OPTIMIZER))
    by_parameter: dict[str, dict[str, Tensor]] = {}
    for key, value in moments.items():
        name, _, moment = key.rpartition("/")
        by_parameter.setdefault(name, {})[moment] = value
    for name, parameter in model.named_parameters():
        if name in by_parameter:
            optimizer.state[parameter] = by_parameter[name]
    return state


def _optimizer_tensors(model: Model, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{name}/{moment}": value
        for name, parameter in model.named_parameters()
        for moment, value in optimizer.state.get(parameter, {}).items()
    }


# --- runs ---------------------------------------------------------------------------------------


def run_weights(run: RunDirectory) -> tuple[dict[str, Tensor], str]:
    """Weights of a run and their file's hash; of an unfinished one, the best or last so far.

    Always in single precision, whatever the file holds: what is computed with them, and the hash
    of the tensors that a comparison checks, does not depend on how they were kept.
    """
    manifest = run.manifest()
    if manifest.status == "finished":
        assert manifest.weights is not None
        return _widened(load_tensors(run.weights_path, manifest.weights)), manifest.weights
    folder = last_checkpoint(run.checkpoints_path)
    if folder is None:
        raise RunError(
            f"{run.name} has no weights yet.",
            expected="a finished run, or one with a checkpoint",
            hint="the command that began it, with --resume, goes on",
        )
    state = read_state(folder)
    if state.best_step is not None and run.recipe().train.keep == "best":
        step, digest = state.best_step, state.best_hash
        path = best_path(run.checkpoints_path, step)
    else:
        step, digest = state.step, state.files[WEIGHTS]
        path = folder / WEIGHTS
    notice(f"{run.name} is not finished: using its weights of step {step}")
    assert digest is not None
    return _widened(load_tensors(path, digest)), digest


def _widened(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same values, half precision as single precision."""
    narrow = (torch.float16, torch.bfloat16)
    return {name: t.float() if t.dtype in narrow else t for name, t in tensors.items()}


def write_half(run: RunDirectory, out: str | Path) -> RunDirectory:
    """A finished run once more, in half precision and without traces of where it was made.

    A run that is already in `out` is replaced; other files there stay. What is kept of the lineage:
    hashes of data, tokenizer and weights, versions and date; what is not: the command and folders.
    """
    manifest = run.manifest()
    if manifest.status != "finished" or manifest.kind == "linear":
        raise RunError(
            f"{run.name} cannot be written in half precision.",
            expected="a finished language model or classifier",
            found=f"a {manifest.kind} run, {manifest.status}",
        )
    weights = {name: _halved(name, tensor) for name, tensor in run_weights(run)[0].items()}
    with OutputFolder(out, overwrite=True, sources=[run.path]) as folder:
        made = RunDirectory(folder.path)
        made.write_recipe(run.recipe())
        load_tokenizer(run).save(made.tokenizer_path)
        parent = manifest.lineage.parent and Path(manifest.lineage.parent).name
        lineage = manifest.lineage.model_copy(update={"command": [], "parent": parent})
        digest = save_tensors(made.weights_path, weights)
        # The manifest comes last: it makes the folder a run.
        made.write_manifest(manifest.model_copy(update={"lineage": lineage, "weights": digest}))
    return made


def _halved(name: str, tensor: Tensor) -> Tensor:
    if not tensor.is_floating_point():
        return tensor
    half = tensor.half()
    if half.isfinite().all():
        return half
    raise RunError(
        f"{name} cannot be written in half precision.",
        expected=f"values up to ±{torch.finfo(torch.float16).max:,.0f}",
        found=f"{tensor.abs().max():,.4g}",
        hint="weights that large are no good sign: look at the training's metrics",
    )


def load_model(run: RunDirectory) -> Model:
    """The run's model with its weights."""
    manifest = run.manifest()
    model = empty_model(run.recipe().model, manifest.vocab, manifest.heads).to_empty(device="cpu")
    weights, _ = run_weights(run)
    load_exact(model, weights, run.name)
    return model.eval()


def load_tokenizer(run: RunDirectory) -> Tokenizer:
    """The run's tokenizer, checked against the one its weights were made for."""
    tokenizer = Tokenizer.load(run.tokenizer_path)
    check_tokenizer(run.manifest().lineage.tokenizer, tokenizer.fingerprint, run.name)
    return tokenizer


def load_classification_tokenizer(run: RunDirectory) -> Tokenizer:
    """The tokenizer with which texts are classified: a base's recipe says if in small letters."""
    tokenizer = load_tokenizer(run)
    # Whatever has learnt labels reads with its own tokenizer, as it is.
    is_base = run.manifest().kind == "language-model"
    return (
        tokenizer.lowercased() if is_base and run.recipe().classification.lowercase else tokenizer
    )


def check_tokenizer(
    expected: str,
    found: str,
    where: str,
    hint: str = "prepare the text again with the parent's own: greffe prepare --tokenizer RUN",
) -> None:
    """Two fingerprints that must be one."""
    if expected != found:
        raise MismatchError(
            f"{where}: the tokenizer is not the one the weights were made for.",
            expected=f"fingerprint {expected[:12]}",
            found=f"fingerprint {found[:12]}",
            hint=hint,
        )
