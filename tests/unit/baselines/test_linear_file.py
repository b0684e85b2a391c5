"""Linear classifiers on disk: bit-identical after a round trip, damage is noticed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from greffe.baselines.auxiliary_data import AuxiliaryData
from greffe.baselines.features import BaseReader, FeatureRun, Reader
from greffe.baselines.linear_classifier import LinearClassifier, fit_linear
from greffe.baselines.linear_file import load_classifier, save_classifier
from greffe.data.tables import Example
from greffe.errors import CorruptError
from greffe.storage import file_hash

Reviews = tuple[list[str], np.ndarray]
LABELS = list("abc")


def labelled(reviews: Reviews) -> list[Example]:
    return [Example(text, "abc"[target]) for text, target in zip(*reviews, strict=True)]


def fit(reviews: Reviews, feature_runs: Sequence[Reader] = ()) -> LinearClassifier:
    return fit_linear(
        labelled(reviews), LABELS, tfidf=True, base=None, feature_runs=feature_runs, seed=0
    )


@pytest.fixture
def saved(reviews: Reviews, tmp_path: Path) -> Path:
    save_classifier(fit(reviews), tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", ["tfidf", "base", "runs", "auxiliary", "all"])
def test_a_saved_classifier_predicts_the_same_bits(
    kind: str,
    reviews: Reviews,
    reader: BaseReader,
    random_run: Callable[..., FeatureRun],
    tmp_path: Path,
) -> None:
    base = reader if kind in ("base", "all") else None
    feature_runs = [random_run(2), random_run(4, seed=1)] if kind in ("runs", "all") else []
    tables = [[Example(text, "abc"[n % 3]) for n, text in enumerate(reviews[0][:30])]]
    fitted = fit_linear(
        labelled(reviews),
        LABELS,
        tfidf=kind in ("tfidf", "auxiliary", "all"),
        base=base,
        feature_runs=feature_runs,
        auxiliary=AuxiliaryData.of(tables, LABELS) if kind in ("auxiliary", "all") else None,
        seed=0,
    )
    save_classifier(fitted, tmp_path)
    loaded = load_classifier(tmp_path, base, feature_runs)
    texts = [*reviews[0], "", "Tout autre chose 日本"]
    np.testing.assert_array_equal(loaded.probabilities(texts), fitted.probabilities(texts))
    assert loaded.settings == fitted.settings
    assert loaded.probabilities([]).shape == (0, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["linear.json", "linear.safetensors"]


def test_a_changed_term_is_noticed(saved: Path) -> None:
    path = saved / "linear.json"
    written = json.loads(path.read_text("utf-8"))
    written["vocabularies"]["words"][3] = "autre"
    path.write_text(json.dumps(written), "utf-8")
    with pytest.raises(CorruptError, match="vocabularies"):
        load_classifier(saved)


def test_a_changed_weight_is_noticed(saved: Path) -> None:
    tensors = load_file(saved / "linear.safetensors")
    tensors["bias"][0] += 1
    save_file(tensors, saved / "linear.safetensors")
    with pytest.raises(CorruptError, match="damaged or was replaced"):
        load_classifier(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda written: written.pop("classes"), "damaged or from another version"),
        (lambda written: written.update(format=2), "damaged or from another version"),
        (lambda written: written.update(classes=4), "does not belong"),
        (lambda written: written.update(base_columns=8), "does not belong"),
    ],
)
def test_settings_of_another_model_are_noticed(saved: Path, change: Any, message: str) -> None:
    path = saved / "linear.json"
    written = json.loads(path.read_text("utf-8"))
    change(written)
    path.write_text(json.dumps(written), "utf-8")
    with pytest.raises(CorruptError, match=message):
        load_classifier(saved)


@pytest.mark.parametrize("name", ["linear.json", "linear.safetensors"])
def test_a_truncated_or_missing_file_is_noticed(saved: Path, name: str) -> None:
    path = saved / name
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CorruptError, match="damaged"):
        load_classifier(saved)
    path.unlink()
    with pytest.raises(CorruptError, match="missing"):
        load_classifier(saved)


def test_another_base_is_noticed(saved: Path, reader: BaseReader) -> None:
    with pytest.raises(CorruptError, match="does not belong to the base"):
        load_classifier(saved, reader)


def test_other_feature_runs_are_noticed(
    reviews: Reviews, random_run: Callable[..., FeatureRun], tmp_path: Path
) -> None:
    two, four = random_run(2), random_run(4)
    save_classifier(fit(reviews, [two, four]), tmp_path)
    strangers: list[list[Reader]] = [[], [two], [four, two], [two, four, two]]
    for others in strangers:
        with pytest.raises(CorruptError, match="does not belong to the feature runs"):
            load_classifier(tmp_path, None, others)
    path = tmp_path / "linear.json"
    written = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(written | {"run_columns": [2, 5]}), "utf-8")
    with pytest.raises(CorruptError, match="does not belong to linear"):
        load_classifier(tmp_path, None, [two, random_run(5)])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format", 2),
        ("classes", 1),
        ("classes", 4),
        ("classes", 10**30),
        ("texts", -1),
        ("c", "much"),
        ("accuracy", 1.5),
        ("base_columns", -1),
        ("base_columns", 7),
        ("run_columns", [3]),
        ("vocabularies", None),
        ("vocabularies", {"unknown": ["a"]}),
        ("vocabularies", ["a"]),
        ("hashes", {}),
        ("hashes", {"tensors": 1}),
    ],
)
def test_settings_that_contradict_the_arrays(saved: Path, name: str, value: object) -> None:
    path = saved / "linear.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {name: value}), "utf-8")
    with pytest.raises(CorruptError):
        load_classifier(saved)


@pytest.mark.parametrize("name", ["weights", "bias", "idf.words"])
@pytest.mark.parametrize("damage", ["shape", "not finite", "whole numbers", "missing"])
def test_arrays_that_contradict_the_settings(saved: Path, name: str, damage: str) -> None:
    tensors = load_file(saved / "linear.safetensors")
    old = tensors.pop(name)
    if damage == "shape":
        tensors[name] = np.zeros((3, *old.shape), np.float32)
    elif damage == "not finite":
        tensors[name] = np.full_like(old, np.nan)
    elif damage == "whole numbers":
        tensors[name] = np.zeros(old.shape, np.int64)
    save_file(tensors, saved / "linear.safetensors")
    settings = json.loads((saved / "linear.json").read_text("utf-8"))
    settings["hashes"]["tensors"] = file_hash(saved / "linear.safetensors")
    (saved / "linear.json").write_text(json.dumps(settings), "utf-8")
    with pytest.raises(CorruptError):
        load_classifier(saved)
