"""greffe linear: what its runs contain and record, and what it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import greffe
from greffe.baselines.linear_classifier import LinearClassifier
from greffe.baselines.linear_runs import load_linear
from greffe.config.option_groups import flat_keywords
from greffe.data.tables import Example
from greffe.errors import CorruptError, DataError, RecipeError, RunError, RunExistsError
from greffe.model.weights import save_tensors
from greffe.pipelines import linear as linear_module
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.training.checkpoint import run_weights

linear = flat_keywords(linear_module.linear)


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(40, seed=1)]


@pytest.fixture
def parent(fresh_run: Callable[..., RunDirectory]) -> RunDirectory:
    """A finished language model with fresh weights."""
    return fresh_run("parent")


def names(run: RunDirectory) -> set[str]:
    return {path.name for path in run.path.iterdir()}


def test_tfidf_alone_has_no_base(examples: list[Example], tmp_path: Path) -> None:
    run = linear(examples, tmp_path / "out")
    assert names(run) == {"README.md", "run.json", "linear.json", "linear.safetensors"}
    manifest = run.manifest()
    assert (manifest.kind, manifest.status) == ("linear", "finished")
    assert manifest.labels == ["négatif", "positif"]
    assert manifest.weights is None and manifest.direction is None
    assert manifest.result["texts"] == 40 and manifest.result["accuracy"] > 0.4
    with pytest.raises(RunError, match="no base"):
        run.require_base()


def test_a_run_with_a_base_is_self_contained(
    examples: list[Example], parent: RunDirectory, tmp_path: Path
) -> None:
    run = linear(examples, tmp_path / "out", parent=parent)
    files = {"recipe.toml", "tokenizer.json", "weights.safetensors"}
    assert names(run) == {"README.md", "run.json", "linear.json", "linear.safetensors", *files}
    manifest = run.manifest()
    assert manifest.direction == "causal"
    assert manifest.lineage.initial_base == parent.manifest().lineage.initial_base
    assert manifest.result["base_weight"] is not None
    texts = [example.text for example in examples]
    before = load_linear(run).probabilities(texts)
    for path in parent.path.iterdir():
        path.unlink()
    assert (load_linear(run).probabilities(texts) == before).all()


def test_a_base_that_changes_meanwhile_is_taken_as_it_was_read(
    examples: list[Example],
    parent: RunDirectory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, fit = parent.manifest(), linear_module.fit_linear

    def fit_and_change(*arguments: Any, **options: Any) -> LinearClassifier:
        fitted = fit(*arguments, **options)
        weights = {name: tensor + 1 for name, tensor in run_weights(parent)[0].items()}
        digest = save_tensors(parent.weights_path, weights)
        parent.write_manifest(before.model_copy(update={"weights": digest}))
        return fitted

    monkeypatch.setattr(linear_module, "fit_linear", fit_and_change)
    lineage = linear(examples, tmp_path / "out", parent=parent).manifest().lineage
    assert parent.manifest().weights != before.weights
    assert lineage.parent_weights == before.weights
    assert lineage.initial_base == before.lineage.initial_base


def test_the_base_alone(examples: list[Example], parent: RunDirectory, tmp_path: Path) -> None:
    run = linear(examples, tmp_path / "out", parent=parent, tfidf=False)
    classifier = load_linear(run)
    assert classifier.tfidf is None and len(classifier.weights) == 3 * 16


def test_the_same_seed_gives_the_same_files(examples: list[Example], tmp_path: Path) -> None:
    first, second = (linear(examples, tmp_path / name, seed=3) for name in "ab")
    for name in ("linear.json", "linear.safetensors"):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes()


def test_a_damaged_base_is_an_error(
    examples: list[Example], parent: RunDirectory, tmp_path: Path
) -> None:
    run = linear(examples, tmp_path / "out", parent=parent)
    content = bytearray(run.weights_path.read_bytes())
    content[-1] ^= 1
    run.weights_path.write_bytes(content)
    with pytest.raises(CorruptError, match="damaged or was replaced"):
        load_linear(run)


def test_no_features_or_one_class_is_an_error(examples: list[Example], tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no features"):
        linear(examples, tmp_path / "out", tfidf=False)
    with pytest.raises(DataError, match="two classes"):
        linear([Example("un", "a"), Example("deux", "a")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_run_is_replaced_with_overwrite_only(
    examples: list[Example], parent: RunDirectory, tmp_path: Path
) -> None:
    linear(examples, tmp_path / "out", parent=parent)
    with pytest.raises(RunExistsError):
        linear(examples, tmp_path / "out")
    run = linear(examples, tmp_path / "out", overwrite=True)
    assert names(run) == {"README.md", "run.json", "linear.json", "linear.safetensors"}
    with pytest.raises(RunExistsError, match="which this command reads"):
        linear(examples, parent.path, parent=parent, overwrite=True)


# --- feature runs -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def feature_run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run trained on three hundred other reviews with other labels."""
    renamed = {"positif": "bon", "négatif": "mauvais"}
    others = [Example(text, renamed[label]) for label, text in toy_reviews(300, seed=7)]
    return linear(others, tmp_path_factory.mktemp("feature_run") / "run")


def test_a_feature_run_helps_where_labels_are_few(
    feature_run: RunDirectory, tmp_path: Path
) -> None:
    few = [Example(text, label) for label, text in toy_reviews(16, seed=1)]
    tests = list(toy_reviews(200, seed=9))
    texts = [text for _, text in tests]

    def accuracy(run: RunDirectory) -> float:
        predicted = load_linear(run).probabilities(texts).argmax(axis=1)
        is_correct = [
            run.manifest().labels[best] == label
            for best, (label, _) in zip(predicted, tests, strict=True)
        ]
        return float(np.mean(is_correct))

    without = accuracy(linear(few, tmp_path / "without"))
    both = accuracy(linear(few, tmp_path / "both", feature_runs=[feature_run]))
    assert both > without + 0.1 and both > 0.85


def test_a_run_contains_its_feature_runs(
    examples: list[Example], parent: RunDirectory, feature_run: RunDirectory, tmp_path: Path
) -> None:
    gone = RunDirectory(shutil.copytree(feature_run.path, tmp_path / "gone"))
    run = linear(examples, tmp_path / "out", parent=parent, feature_runs=[gone, feature_run])
    result = run.manifest().result
    assert result["feature_runs"] == f"{gone.name}, {feature_run.name}"
    assert result["features"] == result["tfidf_features"] + 3 * 16 + 2 + 2
    texts = [example.text for example in examples]
    before = load_linear(run).probabilities(texts)
    shutil.rmtree(gone.path)
    shutil.rmtree(parent.path)
    assert (load_linear(run).probabilities(texts) == before).all()


def test_a_feature_run_alone(
    examples: list[Example], feature_run: RunDirectory, tmp_path: Path
) -> None:
    run = linear(examples, tmp_path / "out", feature_runs=[feature_run], tfidf=False)
    assert names(run) == {
        "README.md",
        "run.json",
        "linear.json",
        "linear.safetensors",
        "feature_runs",
    }
    assert run.manifest().result["features"] == 2
    assert run.manifest().result["accuracy"] > 0.8
    with pytest.raises(RunError, match="no base"):
        run.require_base()


def test_a_language_model_cannot_be_a_feature_run(
    examples: list[Example], parent: RunDirectory, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match="predicts no labels"):
        linear(examples, tmp_path / "out", feature_runs=[parent])
    assert not (tmp_path / "out").exists()


def test_a_feature_run_is_not_overwritten(
    examples: list[Example], feature_run: RunDirectory, tmp_path: Path
) -> None:
    run = linear(examples, tmp_path / "out", feature_runs=[feature_run])
    inner = RunDirectory(run.path / "feature_runs" / "0")
    for read in (run, inner):
        with pytest.raises(RunExistsError, match="which this command reads"):
            linear(examples, run.path, feature_runs=[read], overwrite=True)
    with pytest.raises(RunExistsError, match="already holds"):
        linear(examples, run.path, feature_runs=[run])
    load_linear(run)
    linear(examples, run.path, overwrite=True)
    assert names(run) == {"README.md", "run.json", "linear.json", "linear.safetensors"}


def test_a_damaged_feature_run_removes_no_earlier_run(
    examples: list[Example], feature_run: RunDirectory, tmp_path: Path
) -> None:
    run = linear(examples, tmp_path / "out")
    damaged = RunDirectory(shutil.copytree(feature_run.path, tmp_path / "damaged"))
    (damaged.path / "linear.safetensors").write_bytes(b"")
    with pytest.raises(CorruptError, match="damaged or truncated"):
        linear(examples, run.path, feature_runs=[damaged], overwrite=True)
    load_linear(run)


def test_a_feature_run_trained_on_these_texts_prints_a_notice(
    examples: list[Example],
    feature_run: RunDirectory,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    same = linear(examples, tmp_path / "same")
    linear(examples, tmp_path / "other", feature_runs=[feature_run])
    assert "is optimistic" not in capsys.readouterr().err
    linear(examples, tmp_path / "out", feature_runs=[feature_run, same])
    notices = capsys.readouterr().err
    assert (
        f"{same.name} was trained on these training texts" in notices and "is optimistic" in notices
    )


def test_auxiliary_data_is_used_and_recorded(examples: list[Example], tmp_path: Path) -> None:
    others = [Example(text, label) for label, text in toy_reviews(60, seed=5)]
    run = linear(examples, tmp_path / "out", aux_data=[others[:20], others[20:]])
    manifest = run.manifest()
    assert manifest.result["auxiliary"] == 60 and manifest.result["texts"] == 40
    assert set(manifest.lineage.data) == {"train", "auxiliary 1", "auxiliary 2"}
    alone = linear(examples, tmp_path / "alone")
    assert alone.manifest().result["auxiliary"] == 0
    texts = [example.text for example in others]
    both = [load_linear(one).probabilities(texts) for one in (run, alone)]
    assert not np.allclose(*both)


def test_a_feature_run_with_these_texts_as_auxiliary_data_prints_a_notice(
    examples: list[Example], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [Example(text, label) for label, text in toy_reviews(30, seed=5)]
    feature_run = linear(others, tmp_path / "run", aux_data=[examples])
    linear(examples, tmp_path / "out", feature_runs=[feature_run])
    assert "was trained on these training texts" in capsys.readouterr().err


def test_text_without_labels_adds_terms(
    examples: list[Example],
    parent: RunDirectory,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("greffe.baselines.latent.LEAST_TEXTS", 200)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(text for _, text in toy_reviews(400, seed=2)), "utf-8")
    run = linear(examples, tmp_path / "out", parent=parent, unlabelled=[text])
    assert "latent semantic analysis: 400 texts without labels" in capsys.readouterr().err
    fitted, tested = load_linear(run), [text for _, text in toy_reviews(10, seed=3)]
    assert run.manifest().result["latent"] == fitted.settings.latent > 0
    written = json.loads((run.path / "linear.json").read_text("utf-8"))
    assert set(written["vocabularies"]) == {"words", "characters", "latent"}
    folder = greffe.export(run.path, tmp_path / "exported")
    for found, ours in zip(
        greffe.load(folder).predict(tested), fitted.probabilities(tested), strict=True
    ):
        assert list(found.probabilities.values()) == pytest.approx(list(ours), abs=1e-5)


def test_too_few_texts_without_labels_are_refused_before_writing(
    examples: list[Example], tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(text for _, text in toy_reviews(40, seed=2)), "utf-8")
    with pytest.raises(DataError, match="too few texts without labels"):
        linear(examples, tmp_path / "out", unlabelled=[text])
    assert not (tmp_path / "out").exists()
