"""greffe export: a finished run → a folder that other programs open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from greffe.config.options import Output
from greffe.data.tables import Example
from greffe.errors import InputError, RunError
from greffe.evaluation.metrics import label_indices
from greffe.interop.export_manifest import (
    EXPORT_FILE,
    ExportFormat,
    ExportManifest,
    Int8Check,
    Task,
)
from greffe.interop.huggingface.export import write_huggingface
from greffe.interop.onnx.exported import ExportedFolder
from greffe.interop.onnx.graph import OPSET
from greffe.interop.onnx.write import OnnxOptions, export_manifest, write_onnx
from greffe.output_folder import CARD_FILE, OutputFolder
from greffe.pipelines.export_card import export_card
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.storage import copy_file, write_atomic, write_json

CHECKED_TEXTS = 2000
MOST_LOST = 0.003
"""Of the accuracy, by quantization."""


def export_run(
    run: RunDirectory,
    output: Output,
    *,
    format: ExportFormat = "onnx",
    task: Task | None = None,
    examples: Sequence[Example] = (),
    calibrated: bool = False,
    opset: int = OPSET,
) -> Path:
    """Write a run in another format; nothing is written unless the result is what it should be.

    `examples`: labelled texts on which int8 is compared with fp32.
    """
    run.require_finished()
    _check_choices(run, format, task, examples, calibrated=calibrated)
    with (
        OutputFolder(
            output.out,
            markers=(EXPORT_FILE,),
            overwrite=output.overwrite,
            resumes="never",
            sources=[run.path],
        ) as folder,
        TemporaryDirectory(prefix="greffe-export-") as temporary,
    ):
        made = Path(temporary)
        if format == "huggingface":
            manifest = _write_huggingface(run, made)
        else:
            options = OnnxOptions(
                choose_task(run, task),
                int8=format == "onnx-int8",
                temperature=run.require_calibration().temperature if calibrated else None,
                opset=opset,
            )
            manifest = _write_onnx(run, made, options, examples)
        write_json(made / EXPORT_FILE, manifest.model_dump(mode="json"))
        folder.begin()
        _copy(made, folder.path)
    notice(f"{_describe(manifest, folder.path)} written to {folder.path}")
    return folder.path


def _check_choices(
    run: RunDirectory,
    format: ExportFormat,
    task: Task | None,
    examples: Sequence[Example],
    *,
    calibrated: bool,
) -> None:
    """Raise an error for choices that the format or the task does not have, before any work."""
    given = {"--task": task is not None, "--calibrated": calibrated}
    if format == "huggingface" and any(given.values()):
        raise InputError(
            "The Hugging Face format keeps the run as it is.",
            expected="neither --task nor --calibrated with it",
            found=" ".join(name for name, is_given in given.items() if is_given),
            hint="use --format onnx, or leave it out",
        )
    if examples and format != "onnx-int8":
        raise InputError(
            "Labelled texts are for checking what int8 changes.",
            expected="--data with --format onnx-int8",
            found=f"--data with --format {format}",
            hint="leave it out; greffe evaluate measures an exported folder too",
        )
    if examples and choose_task(run, task) != "classification":
        raise InputError(
            "Labelled texts check the accuracy of a classifier.",
            expected="no --data",
            found=f"--data for {choose_task(run, task).replace('_', ' ')}",
            hint="leave it out",
        )


def _write_huggingface(run: RunDirectory, made: Path) -> ExportManifest:
    written = write_huggingface(run, made)
    if written.needs_remote_code:
        notice(
            f"no class of transformers computes this model: {written.auto_class} loads it with "
            "trust_remote_code=True, from the code in the folder"
        )
    return export_manifest(
        run,
        made,
        kind="huggingface",
        task=choose_task(run, None),
        files=[name for name in written.files if name != CARD_FILE],
        transformers_class=written.architecture,
        needs_remote_code=written.needs_remote_code,
    )


def _write_onnx(
    run: RunDirectory, made: Path, options: OnnxOptions, examples: Sequence[Example]
) -> ExportManifest:
    manifest = write_onnx(run, made, options)
    if options.int8:
        manifest = _with_check(manifest, run, made, options, examples)
    write_atomic(made / CARD_FILE, export_card(run, manifest).encode("utf-8", "replace"))
    return manifest


def choose_task(run: RunDirectory, task: Task | None) -> Task:
    """Return what an exported run is for; an error says what it can be exported for."""
    manifest = run.manifest()
    possible: list[Task] = []
    if manifest.kind != "language-model":
        possible.append("classification")
    if manifest.kind != "linear":
        possible.append("features")
        possible += ["next_token"] if "next_token" in manifest.heads else []
    if task is None:
        return possible[0]
    if task not in possible:
        raise InputError(
            f"{run.name} cannot be exported for {task.replace('_', ' ')}.",
            expected=" or ".join(each.replace("_", "-") for each in possible),
            found=f"--task {task.replace('_', '-')} of a {manifest.kind} run",
            hint=f"leave out --task to export it for {possible[0].replace('_', ' ')}",
        )
    return task


def _with_check(
    manifest: ExportManifest,
    run: RunDirectory,
    folder: Path,
    options: OnnxOptions,
    examples: Sequence[Example],
) -> ExportManifest:
    """Compare the accuracies in int8 and fp32; refuse a folder that has lost too much."""
    if options.task != "classification":
        notice("int8 was not checked: only the accuracy of a classifier can be compared")
        return manifest
    if not examples:
        notice(
            "int8 was not checked: give labelled texts with --data, on which its accuracy is "
            "compared with that of fp32"
        )
        return manifest
    some = examples[:CHECKED_TEXTS]
    targets = label_indices(manifest.labels, [example.label for example in some])
    texts = [example.text for example in some]
    write_json(folder / EXPORT_FILE, manifest.model_dump(mode="json"))
    with TemporaryDirectory(prefix="greffe-export-") as temporary:
        exact = Path(temporary)
        fp32 = write_onnx(run, exact, OnnxOptions(options.task, temperature=options.temperature))
        write_json(exact / EXPORT_FILE, fp32.model_dump(mode="json"))
        found = [
            float((ExportedFolder(each).probabilities(texts).argmax(axis=1) == targets).mean())
            for each in (folder, exact)
        ]
    check = Int8Check(texts=len(some), int8=found[0], fp32=found[1])
    lost = check.fp32 - check.int8
    if lost > MOST_LOST + 1e-9:
        raise RunError(
            f"int8 changes the accuracy of {run.name} too much; nothing was written.",
            expected=f"at most {MOST_LOST:.1%} less than in fp32",
            found=f"{check.int8:.2%} in int8, {check.fp32:.2%} in fp32, on {len(some):,} texts",
            hint="use --format onnx, or more labelled texts if these are few",
        )
    notice(f"accuracy on {len(some):,} texts: {check.int8:.2%} in int8, {check.fp32:.2%} in fp32")
    return manifest.model_copy(update={"int8": check})


def _describe(manifest: ExportManifest, folder: Path) -> str:
    """Return the format, the task and the size of a folder, for a message."""
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return f"{manifest.kind}, {manifest.task.replace('_', ' ')}, {size / 1e6:.1f} MB"


def _copy(made: Path, folder: Path) -> None:
    """Copy what was made, the manifest last: it makes the folder an exported one."""
    files = sorted(file.relative_to(made) for file in made.rglob("*") if file.is_file())
    for name in (*(each for each in files if str(each) != EXPORT_FILE), Path(EXPORT_FILE)):
        copy_file(made / name, folder / name)
