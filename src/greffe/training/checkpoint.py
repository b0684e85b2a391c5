"""Checkpoints for exact resuming, and loading of a run's weights. Writes are atomic; no pickle.

weights.safetensors                     weights of a finished run, in single or half precision
checkpoints/step-00001200/              everything needed to resume from this step
    weights.safetensors optimizer.safetensors state.json
checkpoints/best-00000800.safetensors   the best weights so far
"""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from pydantic import Field
from torch import Tensor

from greffe.config.recorded import Count, Measure
from greffe.config.spec import Spec
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, MismatchError, RunError
from greffe.model.adapters import add_adapters, merged_tensors
from greffe.model.model import Model, blank_model, empty_model
from greffe.model.tensor_header import read_header
from greffe.model.weights import check_shapes, load_exact, load_tensors, load_weights, save_tensors
from greffe.output_folder import OutputFolder
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.storage import disk_error, read_model, sync_folder, temporary_path, write_json
from greffe.training.collapse import LoggedLoss, Restarted

STATE_FILE = "state.json"
REPLACED = "-replaced"
ATTEMPTS = 100
"""To read the weights of a run while another process replaces its checkpoints."""
WEIGHTS = "weights.safetensors"
OPTIMIZER = "optimizer.safetensors"
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What AdamW keeps for each parameter."""


class TrainingState(Spec):
    """The training state besides tensors."""

    tokenizer: str = ""
    """Fingerprint of the tokenizer that the weights belong to."""
    step: Count = 0
    tokens: Count = 0
    seconds: float = Field(0.0, ge=0)
    skipped: Count = 0
    skipped_in_a_row: Count = 0
    best_step: Count | None = None
    best_score: float | None = None
    best_hash: str | None = None
    evaluations_without_better: Count = 0
    compiled: bool = False
    """Whether torch.compile is in use: a resumed run must compute in exactly the same way."""
    losses: list[LoggedLoss] = Field(default_factory=list)
    """Of the logged steps, about a hundred."""
    restarted: Restarted | None = None
    """Only of a fine-tuning that collapsed."""
    last_evaluation: dict[str, Measure] = Field(default_factory=dict)
    best_evaluation: dict[str, Measure] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    """Hashes of the files beside it."""


def _folder(step: int) -> str:
    return f"step-{step:08}"


def best_path(checkpoints: Path, step: int) -> Path:
    """Return the path of the best weights, saved at `step`."""
    return checkpoints / f"best-{step:08}.safetensors"


def save_checkpoint(
    checkpoints: Path, model: Model, optimizer: torch.optim.Optimizer, state: TrainingState
) -> None:
    """Write a complete new checkpoint, then remove the old ones: one is always complete."""
    final = checkpoints / _folder(state.step)
    temporary = temporary_path(final)
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        files = {
            WEIGHTS: save_tensors(temporary / WEIGHTS, model.state_dict()),
            OPTIMIZER: save_tensors(temporary / OPTIMIZER, _optimizer_tensors(model, optimizer)),
        }
        complete = state.model_copy(update={"files": files})
        write_json(temporary / STATE_FILE, complete.model_dump(mode="json"))
        if final.exists():  # a folder cannot be replaced: the old one counts until it is removed
            final.rename(final.with_name(f"{final.name}{REPLACED}"))
        temporary.rename(final)
        sync_folder(checkpoints)
    except OSError as error:
        raise disk_error(error, final) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    for other in checkpoints.glob("*step-*"):
        if other != final:
            shutil.rmtree(other, ignore_errors=True)
    _remove_bests(checkpoints, keep={state.best_step})


def save_best(checkpoints: Path, model: Model, step: int) -> str:
    """Save the current weights as the best so far; return their hash.

    The best weights that the last checkpoint refers to are kept until the next checkpoint, because
    a run resumed after a crash needs them.
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
    """Return the newest complete checkpoint, or None."""
    found = sorted(checkpoints.glob("step-*")) if checkpoints.is_dir() else []
    return found[-1] if found else None


def checkpoint_step(folder: Path) -> int:
    """Return the step of a checkpoint, from the name of its folder."""
    return int(folder.name.removeprefix("step-").removesuffix(REPLACED))


def read_state(folder: Path) -> TrainingState:
    """Read the state file of a checkpoint."""
    state = read_model(TrainingState, folder / STATE_FILE, "a training state")
    missing = {WEIGHTS, OPTIMIZER} - state.files.keys()
    if missing or folder.name.removesuffix(REPLACED) != _folder(state.step):
        raise CorruptError(
            f"{folder / STATE_FILE} is damaged.",
            expected=f"the hashes of {WEIGHTS} and {OPTIMIZER}, and the step of {folder.name}",
            found=f"step {state.step}, hashes of {', '.join(state.files) or 'no file'}",
            hint="remove this checkpoint, or start again with --overwrite",
        )
    return state


def load_checkpoint(folder: Path, model: Model, optimizer: torch.optim.Optimizer) -> TrainingState:
    """Restore model and optimizer from a checkpoint; return the training state."""
    state = read_state(folder)
    load_exact(model, load_weights(folder / WEIGHTS, state.files[WEIGHTS], model), str(folder))
    moments = _load_moments(folder / OPTIMIZER, state.files[OPTIMIZER], model)
    for name, parameter in model.named_parameters():
        if name in moments:
            # The fused optimizer wants all of them, its count of steps too, beside the parameter.
            optimizer.state[parameter] = {
                moment: value.to(parameter.device) for moment, value in moments[name].items()
            }
    return state


def _load_moments(path: Path, digest: str, model: Model) -> dict[str, dict[str, Tensor]]:
    """Return AdamW's moments by parameter; a parameter that was never trained has none."""
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    whole = {
        f"{name}/{moment}": () if moment == "step" else shape
        for name, shape in shapes.items()
        for moment in MOMENTS
    }
    found = read_header(path).shapes
    wrong = [key for key, shape in found.items() if whole.get(key) != shape]
    trained = {key.rpartition("/")[0] for key in found}
    missing = {f"{name}/{one}" for name in trained for one in MOMENTS} - found.keys()
    if wrong or missing:
        raise CorruptError(
            f"{path} does not belong to the weights beside it.",
            expected=f"{', '.join(MOMENTS)} of each trained parameter, in its shape",
            found=f"{wrong[0]} {found[wrong[0]]}" if wrong else f"no {min(missing)}",
        )
    tensors = load_tensors(path, digest)
    return {name: {one: tensors[f"{name}/{one}"].float() for one in MOMENTS} for name in trained}


def _optimizer_tensors(model: Model, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{name}/{moment}": value
        for name, parameter in model.named_parameters()
        for moment, value in optimizer.state.get(parameter, {}).items()
    }


# --- runs ---------------------------------------------------------------------------------------


def run_weights(run: RunDirectory) -> tuple[dict[str, Tensor], str]:
    """Return a run's weights and their file's hash; for an unfinished run, the best or last so far.

    Weights are returned in single precision even if stored in half precision, so that results and
    tensor hashes do not depend on the storage format. The run may be in training: what is replaced
    while it is read is read again.
    """
    for _ in range(ATTEMPTS):
        before = _position(run)
        try:
            return _read_weights(run)
        except RunError:
            if _position(run) == before:
                raise
    return _read_weights(run)


def _position(run: RunDirectory) -> tuple[str, str | None, Path | None]:
    """Return what changes when a run proceeds, finishes or is replaced."""
    manifest = run.manifest()
    return manifest.status, manifest.weights, last_checkpoint(run.checkpoints_path)


def _read_weights(run: RunDirectory) -> tuple[dict[str, Tensor], str]:
    manifest = run.manifest()
    model = empty_model(run.recipe().model, manifest.vocab, manifest.heads)
    if manifest.status == "finished":
        assert manifest.weights is not None
        weights = load_weights(run.weights_path, manifest.weights, model)
        return _widened(weights), manifest.weights
    folder = last_checkpoint(run.checkpoints_path)
    if folder is None:
        raise RunError(
            f"{run.name} has no weights yet.",
            expected="a finished run, or one with a checkpoint",
            hint="rerun the command that started it with --resume",
        )
    state = read_state(folder)
    if state.best_step is not None and run.recipe().train.keep == "best":
        step, digest = state.best_step, state.best_hash
        path = best_path(run.checkpoints_path, step)
    else:
        step, digest = state.step, state.files[WEIGHTS]
        path = folder / WEIGHTS
    if digest is None:
        raise CorruptError(
            f"{folder / STATE_FILE} is damaged.",
            expected="the hash of the best weights",
            found=f"their step alone, {step}",
        )
    train = run.recipe().train
    if adapted := train.adapted_blocks(model.spec.layers):
        add_adapters(model.base.blocks[-adapted:], train.lora)
    weights = merged_tensors(load_weights(path, digest, model), train.lora)
    notice(f"{run.name} is not finished: using its weights from step {step}")
    return _widened(weights), digest


def _widened(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convert half-precision tensors to single precision."""
    narrow = (torch.float16, torch.bfloat16)
    return {name: t.float() if t.dtype in narrow else t for name, t in tensors.items()}


def write_half(run: RunDirectory, out: str | Path) -> RunDirectory:
    """Copy a finished run to `out` in half precision, without the command line and local paths.

    An existing run in `out` is replaced; other files stay. The lineage keeps the hashes of data,
    tokenizer and weights, the versions and the date.
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
        folder.begin()
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
        hint="weights this large suggest that training diverged: check metrics.jsonl",
    )


def load_model(run: RunDirectory) -> Model:
    """Return the run's model with its weights, in eval mode."""
    return load_model_and_hash(run)[0]


def load_model_and_hash(run: RunDirectory) -> tuple[Model, str]:
    """Return the run's model, in eval mode, and the hash of the file of its weights."""
    manifest = run.manifest()
    model = blank_model(run.recipe().model, manifest.vocab, manifest.heads)
    weights, digest = run_weights(run)
    load_exact(model, weights, run.name)
    return model.eval(), digest


def check_recipe(run: RunDirectory) -> None:
    """Raise an error if a finished run's recipe is not that of its weights; none is read."""
    manifest = run.manifest()
    if manifest.status == "finished":
        model = empty_model(run.recipe().model, manifest.vocab, manifest.heads)
        check_shapes(run.weights_path, model)


def load_tokenizer(run: RunDirectory) -> Tokenizer:
    """Return the run's tokenizer; its fingerprint must match the weights."""
    tokenizer = Tokenizer.load(run.tokenizer_path)
    check_tokenizer(run.manifest().lineage.tokenizer, tokenizer.fingerprint, run.name)
    return tokenizer


def load_classification_tokenizer(run: RunDirectory) -> Tokenizer:
    """Return the tokenizer for classification, lowercased if a base's recipe says so."""
    tokenizer = load_tokenizer(run)
    # A classifier's saved tokenizer already lowercases if it has to.
    is_base = run.manifest().kind == "language-model"
    return (
        tokenizer.lowercased() if is_base and run.recipe().classification.lowercase else tokenizer
    )


def check_tokenizer(
    expected: str,
    found: str,
    where: str,
    hint: str = "prepare the text with the parent's tokenizer: greffe prepare --tokenizer RUN",
) -> None:
    """Raise MismatchError unless the two fingerprints are equal."""
    if expected != found:
        raise MismatchError(
            f"{where}: the tokenizer does not match the weights.",
            expected=f"fingerprint {expected[:12]}",
            found=f"fingerprint {found[:12]}",
            hint=hint,
        )
