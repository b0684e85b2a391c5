"""Linear runs with feature runs: whole runs inside a run, checked whenever they are opened."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from greffe.baselines.linear_classifier import fit_linear
from greffe.baselines.linear_runs import load_linear, open_feature_run, write_linear_run
from greffe.data.tables import Example, label_order
from greffe.errors import CorruptError, RunError
from greffe.inference.predict import predict
from greffe.inference.prediction import centered_logs
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.training.checkpoint import load_model, load_tokenizer

TEXTS = ["Un roman magnifique.", "Une fin ridicule.", "", "Tout autre chose. " * 40]
LABELS = ["bien", "mal", "bof"]
Made = tuple[RunDirectory, np.ndarray]
Stacked = Callable[..., Made]


@pytest.fixture
def stacked(tmp_path: Path) -> Stacked:
    """Fits and writes a linear run; returns it with its predictions while in memory."""

    def make(name: str, *feature_runs: RunDirectory, tfidf: bool = True, seed: int = 1) -> Made:
        examples = [Example(text, label) for label, text in toy_reviews(20, seed=seed)]
        labels = label_order(example.label for example in examples)
        asked = [open_feature_run(run) for run in feature_runs]
        fitted = fit_linear(examples, labels, tfidf=tfidf, base=None, feature_runs=asked, seed=0)
        folder = tmp_path / name
        folder.mkdir()
        run = write_linear_run(
            folder,
            fitted,
            labels,
            parent=None,
            feature_runs=feature_runs,
            threads=1,
            data={},
            result={},
        )
        return run, fitted.probabilities(TEXTS)

    return make


@pytest.fixture
def classifier(fresh_run: Callable[..., RunDirectory]) -> RunDirectory:
    """A finished classifier of three labels with fresh weights."""
    run = fresh_run("classifier", LABELS)
    run.log(kind="train", step=1, loss=1.0)
    return run


def test_a_classifier_gives_its_predictions(classifier: RunDirectory) -> None:
    predictions = predict(
        load_model(classifier), load_tokenizer(classifier), LABELS, TEXTS, causal=False
    )
    expected = np.array([[one.probabilities[label] for label in LABELS] for one in predictions])
    feature_run = open_feature_run(classifier)
    assert feature_run.columns == 3 and feature_run.features([]).shape == (0, 3)
    np.testing.assert_array_equal(feature_run.features(TEXTS), centered_logs(expected))
    assert np.ptp(expected, axis=0).min() > 0


def test_a_linear_run_gives_its_predictions(stacked: Stacked) -> None:
    run, predictions = stacked("linear")
    np.testing.assert_array_equal(open_feature_run(run).features(TEXTS), centered_logs(predictions))


def test_it_contains_its_feature_runs(stacked: Stacked, classifier: RunDirectory) -> None:
    other, _ = stacked("other", seed=2)
    run, before = stacked("run", other, classifier, other)
    folders = run.path / "feature_runs"
    assert sorted(path.name for path in folders.iterdir()) == ["0", "1", "2"]
    linear = {"run.json", "linear.json", "linear.safetensors"}
    assert {path.name for path in (folders / "0").iterdir()} == linear
    model = {"run.json", "recipe.toml", "tokenizer.json", "weights.safetensors"}
    assert {path.name for path in (folders / "1").iterdir()} == model
    first, second, third = run.manifest().feature_runs
    assert first == third != second
    shutil.rmtree(other.path)
    shutil.rmtree(classifier.path)
    loaded = load_linear(run)
    np.testing.assert_array_equal(loaded.probabilities(TEXTS), before)
    assert loaded.settings.run_columns == [2, 3, 2]


def test_a_feature_run_may_have_feature_runs(stacked: Stacked, classifier: RunDirectory) -> None:
    middle, _ = stacked("middle", classifier, seed=2)
    run, before = stacked("run", middle, tfidf=False)
    kept = run.path / "feature_runs" / "0" / "feature_runs" / "0" / "weights.safetensors"
    assert kept.read_bytes() == classifier.weights_path.read_bytes()
    shutil.rmtree(middle.path)
    shutil.rmtree(classifier.path)
    np.testing.assert_array_equal(load_linear(run).probabilities(TEXTS), before)
    kept.unlink()
    with pytest.raises(CorruptError, match="feature_runs/0 is damaged or was replaced"):
        load_linear(run)


@pytest.mark.parametrize("name", ["run.json", "linear.json", "linear.safetensors"])
def test_a_damaged_feature_run_is_noticed(stacked: Stacked, name: str) -> None:
    run, _ = stacked("run", stacked("other", seed=2)[0])
    path = run.path / "feature_runs" / "0" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptError, match="feature_runs/0 is damaged or was replaced"):
        load_linear(run)


def test_another_feature_run_with_as_many_labels_is_noticed(stacked: Stacked) -> None:
    run, _ = stacked("run", stacked("other", seed=2)[0])
    stranger, _ = stacked("stranger", seed=3)
    shutil.copytree(stranger.path, run.path / "feature_runs" / "0", dirs_exist_ok=True)
    with pytest.raises(CorruptError, match="feature_runs/0 is damaged or was replaced"):
        load_linear(run)


def test_a_missing_feature_run_is_named(stacked: Stacked) -> None:
    other, _ = stacked("other", seed=2)
    run, _ = stacked("run", other, other)
    shutil.rmtree(run.path / "feature_runs" / "1")
    with pytest.raises(CorruptError, match="feature_runs/1 is missing"):
        load_linear(run)


def test_a_feature_run_must_be_a_finished_classifier(classifier: RunDirectory) -> None:
    manifest = classifier.manifest()
    classifier.write_manifest(manifest.model_copy(update={"status": "training"}))
    with pytest.raises(RunError, match="not finished"):
        open_feature_run(classifier)
    classifier.write_manifest(manifest.model_copy(update={"kind": "language-model"}))
    with pytest.raises(RunError, match="predicts no labels") as caught:
        open_feature_run(classifier)
    assert "greffe finetune" in str(caught.value) and "greffe linear" in str(caught.value)


def test_a_run_that_is_its_own_feature_run_is_an_error(
    stacked: Stacked, classifier: RunDirectory
) -> None:
    """Two links at each level would take forever to follow."""
    run, _ = stacked("run", classifier)
    for name in ("0", "1"):
        folder = run.path / "feature_runs" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.symlink_to(run.path)
    with pytest.raises(CorruptError, match="feature run in more than"):
        load_linear(run)


def test_classes_that_are_not_those_of_the_labels(stacked: Stacked) -> None:
    run, _ = stacked("run")
    manifest = run.manifest()
    run.write_manifest(manifest.model_copy(update={"labels": [*manifest.labels, "one more"]}))
    with pytest.raises(CorruptError, match="does not belong to"):
        load_linear(run)
