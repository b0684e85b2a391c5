"""A linear classifier as a run: written, opened and used like any other classifier.

A stacked run contains its base (recipe, tokenizer, weights), and its feature runs as whole runs in
a folder. TF-IDF alone needs neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from greffe.baselines.features import BaseReader, FeatureRun
from greffe.baselines.linear_classifier import LinearClassifier
from greffe.baselines.linear_file import (
    LINEAR_FILE,
    TENSORS_FILE,
    load_classifier,
    save_classifier,
)
from greffe.config.options import Computing
from greffe.data.tables import text_blocks
from greffe.errors import CorruptError, RunError
from greffe.evaluation.calibration import scale_probabilities
from greffe.inference.placing import AS_IT_IS, PlacedModel
from greffe.inference.predict import predict
from greffe.inference.prediction import Prediction
from greffe.model.tensor_header import read_header
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
from greffe.storage import copy_file, file_hash, read_file
from greffe.training.checkpoint import load_model, load_tokenizer

PREDICTION_FILES = (
    *(RECIPE_FILE, TOKENIZER_FILE, WEIGHTS_FILE),
    *(LINEAR_FILE, TENSORS_FILE, RUN_FILE),
)
"""Files that a finished run predicts with, besides its own feature runs."""
DEEPEST = 8
"""Levels of feature runs inside feature runs."""


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
    """Write everything that prediction needs; the manifest comes last and makes it a run."""
    run = RunDirectory(folder)
    save_classifier(classifier, folder)
    weights_hash, parent_hash, base = None, None, {}
    fingerprint = ""
    if parent is not None:
        assert classifier.base is not None
        run.write_recipe(parent.recipe())
        classifier.base.tokenizer.save(run.tokenizer_path)
        fingerprint = classifier.base.tokenizer.fingerprint
        # What was fitted with: a parent in training may have other weights by now.
        parent_hash = classifier.base.weights_hash
        state = classifier.base.model.state_dict()
        base = {name: tensor for name, tensor in state.items() if name.startswith(BASE)}
        weights_hash = save_tensors(run.weights_path, base)
    hashes = [
        _copy_run(feature_run.path, _feature_run_folder(run, number))
        for number, feature_run in enumerate(feature_runs)
    ]
    if feature_runs:
        names = ", ".join(feature_run.name for feature_run in feature_runs)
        result = result | {"feature_runs": names}
    known = parent.manifest() if parent is not None else None
    is_causal = classifier.base is not None and classifier.base.causal
    run.write_manifest(
        Manifest(
            kind="linear",
            status="finished",
            vocab=known.vocab if known else 0,
            heads={},
            directions=known.directions if known else [],
            labels=labels,
            direction=None if known is None else "causal" if is_causal else "bidirectional",
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
            result=result,
        )
    )
    return run


def load_linear(run: RunDirectory, computing: Computing = AS_IT_IS) -> LinearClassifier:
    """Load the classifier of a linear run, with its base and its feature runs."""
    manifest = run.manifest()
    base = BaseReader.of(run, computing) if manifest.weights is not None else None
    feature_runs = feature_runs_of(run)
    for feature_run, digest in zip(feature_runs, manifest.feature_runs, strict=True):
        _check_copy(feature_run.path, digest)
    opened = [open_feature_run(one, computing) for one in feature_runs]
    classifier = load_classifier(run.path, base, opened)
    if classifier.settings.classes != len(manifest.labels):
        raise CorruptError(
            f"{run.path / LINEAR_FILE} does not belong to {RUN_FILE}.",
            expected=f"{len(manifest.labels)} classes: {', '.join(manifest.labels[:20])}",
            found=f"{classifier.settings.classes}",
        )
    return classifier


def predict_linear(
    classifier: LinearClassifier,
    labels: Sequence[str],
    texts: Iterable[str],
    *,
    temperature: float = 1.0,
) -> Iterator[Prediction]:
    """Yield a prediction per text, in order; texts are read in blocks, never all at once."""
    for block in text_blocks(texts):
        for probabilities in scale_probabilities(classifier.probabilities(block), temperature):
            yield Prediction.of(labels, probabilities)


# --- feature runs -------------------------------------------------------------------------------


def open_feature_run(run: RunDirectory, computing: Computing = AS_IT_IS) -> FeatureRun:
    """Open a run that labels texts, to use its class scores as features."""
    require_labels(run)
    manifest = run.manifest()
    labels = manifest.labels
    if manifest.kind == "linear":
        return FeatureRun(len(labels), load_linear(run, computing).probabilities)
    placed, tokenizer = PlacedModel(load_model(run), computing, run.name), load_tokenizer(run)
    is_causal = manifest.direction == "causal"

    def probabilities(texts: Sequence[str]) -> np.ndarray:
        model = placed.model_for(texts)
        predictions = predict(model, tokenizer, labels, texts, causal=is_causal)
        rows = [list(prediction.probabilities.values()) for prediction in predictions]
        return np.array(rows).reshape(len(texts), len(labels))

    return FeatureRun(len(labels), probabilities)


def require_labels(run: RunDirectory) -> None:
    """Raise an error unless the run is finished and labels texts."""
    if run.manifest().kind == "language-model":
        raise RunError(
            f"{run.name} predicts no labels.",
            expected="a run that labels texts",
            found="a language model",
            hint="greffe finetune or greffe linear makes a run that labels texts",
        )
    run.require_finished()


def feature_runs_of(run: RunDirectory) -> list[RunDirectory]:
    """Return the feature runs inside a run, in order; they are neither opened nor checked."""
    numbers = range(len(run.manifest().feature_runs))
    return [RunDirectory(_feature_run_folder(run, number)) for number in numbers]


def run_hash(folder: Path) -> str:
    """SHA-256 over names and contents of the files that a run predicts with."""
    digest = hashlib.sha256()
    for name in prediction_files(folder):
        digest.update(f"{name.as_posix()}:{_file_hash(folder / name)};".encode())
    return digest.hexdigest()


def _file_hash(path: Path) -> str:
    """Return the SHA-256 of a run's file; one of an impossible size is an error, not hours."""
    if path.suffix == ".safetensors":
        read_header(path)  # checks that the file is as long as it says
        return file_hash(path)
    return hashlib.sha256(read_file(path, "a file of a run")).hexdigest()


def _feature_run_folder(run: RunDirectory, number: int) -> Path:
    return run.path / FEATURE_RUNS / str(number)


def _check_copy(folder: Path, digest: str) -> None:
    """Raise an error unless the folder holds the very run that was copied into it."""
    if not folder.is_dir():
        raise CorruptError(
            f"{folder} is missing.",
            expected="the feature run that the model was fitted with",
            found="no such folder",
            hint="copy the run again from its source, with all of its folders",
        )
    if (found := run_hash(folder)) != digest:
        raise CorruptError(
            f"{folder} is damaged or was replaced.",
            expected=f"a feature run with SHA-256 {digest[:12]}…",
            found=f"{found[:12]}…",
            hint="copy the run again from its source, or train it again",
        )


def _copy_run(source: Path, target: Path) -> str:
    """Copy the files that a run predicts with; return the hash of the copy."""
    for name in prediction_files(source):
        copy_file(source / name, target / name)
    return run_hash(target)


def prediction_files(folder: Path, depth: int = 0) -> list[Path]:
    """Return the files that a run predicts with, relative to its folder."""
    if depth > DEEPEST:
        raise CorruptError(
            f"{folder} is a feature run in more than {DEEPEST} others.",
            expected="a few levels of feature runs",
            found="a link to a folder above, perhaps",
        )
    own = [Path(name) for name in PREDICTION_FILES if (folder / name).is_file()]
    inner = [
        Path(FEATURE_RUNS) / feature_run.name / name
        for feature_run in sorted((folder / FEATURE_RUNS).glob("*"))
        for name in prediction_files(feature_run, depth + 1)
    ]
    return own + inner
