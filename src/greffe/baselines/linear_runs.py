"""A linear classifier as an ordinary run: written whole, opened and asked like any classifier.

A stacked one carries its base with it (recipe, tokenizer, weights), and its teachers as whole
runs in a folder; TF-IDF alone needs none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from greffe.baselines.features import BaseReader
from greffe.baselines.linear_classifier import TENSORS_FILE, LinearClassifier
from greffe.baselines.linear_settings import LINEAR_FILE
from greffe.baselines.run_features import FeatureRun
from greffe.errors import CorruptError, RunError
from greffe.inference.predict import BLOCK_TEXTS, Prediction, predict
from greffe.model.weights import BASE, save_tensors, tensors_hash
from greffe.run import (
    FEATURE_RUNS,
    RECIPE_FILE,
    RUN_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    Manifest,
    RunDirectory,
    new_lineage,
)
from greffe.storage import disk_error, file_hash, write_atomic
from greffe.training.checkpoint import load_model, load_tokenizer, run_weights

PREDICTING = (RECIPE_FILE, TOKENIZER_FILE, WEIGHTS_FILE, LINEAR_FILE, TENSORS_FILE, RUN_FILE)
"""What a finished run predicts with, besides its own teachers."""


def write_linear_run(
    folder: Path,
    classifier: LinearClassifier,
    labels: list[str],
    *,
    parent: RunDirectory | None,
    feature_runs: Sequence[RunDirectory] = (),
    threads: int,
    data: dict[str, str],
    result: dict[str, Any],
) -> RunDirectory:
    """Everything that prediction needs; the manifest comes last and makes the folder a run."""
    run = RunDirectory(folder)
    classifier.save(folder)
    weights_hash, parent_hash, base = None, None, {}
    fingerprint = ""
    if parent is not None:
        assert classifier.base is not None
        run.write_recipe(parent.recipe())
        classifier.base.tokenizer.save(run.tokenizer_path)
        fingerprint = classifier.base.tokenizer.fingerprint
        weights, parent_hash = run_weights(parent)
        base = {name: tensor for name, tensor in weights.items() if name.startswith(BASE)}
        weights_hash = save_tensors(run.weights_path, base)
    hashes = [
        _copy_run(feature_run.path, _feature_run_folder(run, number))
        for number, feature_run in enumerate(feature_runs)
    ]
    known = parent.manifest() if parent is not None else None
    reads_causally = classifier.base is not None and classifier.base.causal
    run.write_manifest(
        Manifest(
            kind="linear",
            status="finished",
            vocab=known.vocab if known else 0,
            heads={},
            directions=known.directions if known else [],
            labels=labels,
            direction=None if known is None else "causal" if reads_causally else "bidirectional",
            lineage=new_lineage(
                threads=threads,
                parent=parent.name if parent else None,
                parent_weights=parent_hash,
                initial_base=tensors_hash(base) if base else "",
                tokenizer=fingerprint,
                data=data,
            ),
            weights=weights_hash,
            feature_runs=hashes,
            result=result
            | (
                {"feature_runs": ", ".join(feature_run.name for feature_run in feature_runs)}
                if feature_runs
                else {}
            ),
        )
    )
    return run


def load_linear(run: RunDirectory) -> LinearClassifier:
    """The classifier of a linear run, with its base and its teachers if it has any."""
    manifest = run.manifest()
    base = BaseReader.of(run) if manifest.weights is not None else None
    carried = feature_runs_of(run)
    for feature_run, digest in zip(carried, manifest.feature_runs, strict=True):
        _check_teacher(feature_run.path, digest)
    return LinearClassifier.load(
        run.path, base, [open_feature_run(feature_run) for feature_run in carried]
    )


def predict_linear(
    classifier: LinearClassifier, labels: Sequence[str], texts: Iterable[str]
) -> Iterator[Prediction]:
    """A prediction a text, in order; reads the texts in blocks, never all at once."""
    stream = iter(texts)
    while block := list(islice(stream, BLOCK_TEXTS)):
        for probabilities in classifier.probabilities(block):
            best = int(probabilities.argmax())
            yield Prediction(
                label=labels[best],
                score=float(probabilities[best]),
                probabilities=dict(zip(labels, probabilities.tolist(), strict=True)),
            )


# --- teachers -----------------------------------------------------------------------------------


def open_feature_run(run: RunDirectory) -> FeatureRun:
    """A run that labels texts, ready to be asked."""
    require_labels(run)
    manifest = run.manifest()
    labels = manifest.labels
    if manifest.kind == "linear":
        return FeatureRun(len(labels), load_linear(run).probabilities)
    model, tokenizer = load_model(run), load_tokenizer(run)
    is_causal = manifest.direction == "causal"

    def judge(texts: Sequence[str]) -> np.ndarray:
        said = predict(model, tokenizer, labels, texts, causal=is_causal)
        probabilities = [list(one.probabilities.values()) for one in said]
        return np.array(probabilities).reshape(len(texts), len(labels))

    return FeatureRun(len(labels), judge)


def require_labels(run: RunDirectory) -> None:
    """An error unless the run is finished and labels texts: else it can teach nothing."""
    manifest = run.manifest()
    if manifest.kind == "language-model":
        raise RunError(
            f"{run.name} labels nothing.",
            expected="a teacher: a run that predicts labels",
            found="a language model",
            hint="greffe finetune or greffe linear makes a run that labels texts",
        )
    if manifest.status != "finished":
        raise RunError(
            f"{run.name} is not finished.",
            expected="a teacher that learns no more",
            found=f"a {manifest.kind} in training",
            hint="the command that began it, with --resume, goes on",
        )


def feature_runs_of(run: RunDirectory) -> list[RunDirectory]:
    """The teachers that a run carries with it, in their order; not opened, not checked."""
    numbers = range(len(run.manifest().feature_runs))
    return [RunDirectory(_feature_run_folder(run, number)) for number in numbers]


def run_hash(folder: Path) -> str:
    """SHA-256 over names and contents of what a run predicts with."""
    digest = hashlib.sha256()
    for name in _predicting(folder):
        digest.update(f"{name.as_posix()}:{file_hash(folder / name)};".encode())
    return digest.hexdigest()


def _feature_run_folder(run: RunDirectory, number: int) -> Path:
    return run.path / FEATURE_RUNS / str(number)


def _check_teacher(folder: Path, digest: str) -> None:
    """An error unless the folder holds the very run that was copied into it."""
    if not folder.is_dir():
        raise CorruptError(
            f"{folder} is missing.",
            expected="the teacher that the run was made with",
            found="no such folder",
            hint="copy the run again from where it came, with all of its folders",
        )
    if (found := run_hash(folder)) != digest:
        raise CorruptError(
            f"{folder} is damaged or was replaced.",
            expected=f"a teacher with SHA-256 {digest[:12]}…",
            found=f"{found[:12]}…",
            hint="copy the run again from where it came, or make it anew",
        )


def _copy_run(source: Path, target: Path) -> str:
    """What the run in `source` predicts with, into `target`; returns the copy's hash."""
    for name in _predicting(source):
        path = target / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            content = (source / name).read_bytes()
        except OSError as error:
            raise disk_error(error, path) from error
        write_atomic(path, content)
    return run_hash(target)


def _predicting(folder: Path) -> list[Path]:
    """Files that a run predicts with, its teachers' among them, as paths inside its folder."""
    own = [Path(name) for name in PREDICTING if (folder / name).is_file()]
    theirs = [
        Path(FEATURE_RUNS) / inner.name / name
        for inner in sorted((folder / FEATURE_RUNS).glob("*"))
        for name in _predicting(inner)
    ]
    return own + theirs
