"""A linear classifier on disk: linear.json and linear.safetensors, never pickled.

The base and the feature runs are not part of these files: see `linear_runs`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from greffe.baselines.features import BaseReader, Reader
from greffe.baselines.linear_classifier import LinearClassifier, LinearSettings
from greffe.baselines.tfidf import BLOCKS, Tfidf
from greffe.errors import CorruptError
from greffe.model.tensor_header import Shape, read_header
from greffe.model.weights import load_tensors, save_tensors
from greffe.storage import read_model, write_json

LINEAR_FILE = "linear.json"
TENSORS_FILE = "linear.safetensors"
ARRAYS = ("weights", "bias", "mean", "scale")


def save_classifier(classifier: LinearClassifier, folder: Path) -> None:
    """Write linear.safetensors and linear.json."""
    arrays = {name: getattr(classifier, name) for name in ARRAYS}
    vocabularies = None
    if classifier.tfidf is not None:
        arrays |= {f"idf.{name}": weights for name, weights in classifier.tfidf.idf.items()}
        vocabularies = classifier.tfidf.vocabularies
    digest = save_tensors(
        folder / TENSORS_FILE,
        {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items()},
    )
    hashes = {"tensors": digest, "vocabularies": terms_hash(vocabularies)}
    settings = classifier.settings.model_copy(
        update={"vocabularies": vocabularies, "hashes": hashes}
    )
    write_json(folder / LINEAR_FILE, settings.model_dump(mode="json"))


def load_classifier(
    folder: Path, base: BaseReader | None = None, feature_runs: Sequence[Reader] = ()
) -> LinearClassifier:
    """Read what `save_classifier` wrote, for the base and feature runs that it was fitted with."""
    settings = _read_settings(folder)
    _check_parts(folder, settings, base, feature_runs)
    arrays = _read_arrays(folder, settings)
    tfidf = None
    if settings.vocabularies is not None:
        idf = {name: arrays[f"idf.{name}"] for name in settings.vocabularies}
        tfidf = Tfidf.restore(settings.vocabularies, idf)
    return LinearClassifier(
        settings.model_copy(update={"vocabularies": None, "hashes": {}}),
        tfidf=tfidf,
        base=base,
        feature_runs=feature_runs,
        **{name: arrays[name] for name in ARRAYS},
    )


def _read_settings(folder: Path) -> LinearSettings:
    path = folder / LINEAR_FILE
    settings = read_model(LinearSettings, path, "a linear classifier")
    vocabularies = settings.vocabularies
    if not set(vocabularies or {}) <= set(BLOCKS) or (
        settings.hashes.get("vocabularies") != terms_hash(vocabularies)
    ):
        raise CorruptError(
            f"{path} is damaged: its vocabularies are not those that were saved.",
            hint="copy the run again from its source, or train it again",
        )
    return settings


def _check_parts(
    folder: Path,
    settings: LinearSettings,
    base: BaseReader | None,
    feature_runs: Sequence[Reader],
) -> None:
    """Raise an error unless file, base and feature runs belong together."""
    if settings.base_columns != (base.columns if base is not None else 0):
        raise CorruptError(
            f"{folder / LINEAR_FILE} does not belong to the base in its run.",
            expected=f"a base with {settings.base_columns} features",
            found=str(base.columns) if base is not None else "no base",
        )
    if settings.run_columns != (found := [feature_run.columns for feature_run in feature_runs]):
        raise CorruptError(
            f"{folder / LINEAR_FILE} does not belong to the feature runs in its run.",
            expected=f"feature runs with {settings.run_columns} classes",
            found=f"{found}",
        )


def _read_arrays(folder: Path, settings: LinearSettings) -> dict[str, np.ndarray]:
    """Return the arrays; their shapes are checked before they are read."""
    path = folder / TENSORS_FILE
    terms = {name: len(words) for name, words in (settings.vocabularies or {}).items()}
    dense = settings.base_columns + sum(settings.run_columns)
    shapes: dict[str, Shape] = {
        "weights": (sum(terms.values()) + dense, settings.classes),
        "bias": (settings.classes,),
        "mean": (dense,),
        "scale": (dense,),
        **{f"idf.{name}": (count,) for name, count in terms.items()},
    }
    found = read_header(path).shapes
    if found != shapes:
        raise CorruptError(
            f"{path} does not belong to {LINEAR_FILE}.",
            expected=", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items())),
            found=", ".join(f"{name} {shape}" for name, shape in sorted(found.items())),
        )
    tensors = load_tensors(path, settings.hashes.get("tensors"))
    wrong = [
        name
        for name, tensor in tensors.items()
        if not tensor.is_floating_point() or not tensor.isfinite().all()
    ]
    if wrong:
        raise CorruptError(f"{path} is damaged.", expected="finite numbers", found=wrong[0])
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def terms_hash(vocabularies: Mapping[str, Sequence[str]] | None) -> str:
    """SHA-256 of all terms in order."""
    digest = hashlib.sha256()
    for name, terms in sorted((vocabularies or {}).items()):
        digest.update(f"{name}\n".encode())
        digest.update("\n".join(terms).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
