"""Several runs as one: the mean of what they say, whatever the order of their classes."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from greffe.baselines.ensembling import ensemble_probabilities, ensembled
from greffe.baselines.linear_runs import load_linear
from greffe.baselines.run_features import FeatureRun
from greffe.data.tables import Example
from greffe.errors import MismatchError, RecipeError, RunError, RunExistsError
from greffe.pipelines.ensemble import ensemble
from greffe.pipelines.linear import linear
from greffe.samples.toy import toy_reviews

SURE = np.array([[0.9, 0.1], [0.2, 0.8]])
UNSURE = np.array([[0.4, 0.6], [0.5, 0.5]])


def says(probabilities: np.ndarray) -> FeatureRun:
    return FeatureRun(probabilities.shape[1], lambda texts: probabilities[: len(texts)])


def geometric(*probabilities: np.ndarray) -> np.ndarray:
    product = np.prod(probabilities, axis=0) ** (1 / len(probabilities))
    return product / product.sum(axis=1, keepdims=True)


def test_the_geometric_mean_of_what_is_said():
    both = ensembled([says(SURE), says(UNSURE)], [["a", "b"], ["a", "b"]], ["a", "b"])
    np.testing.assert_allclose(
        both.probabilities(["x", "y"]), geometric(SURE, UNSURE), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        both.probabilities(["x", "y"]), ensemble_probabilities([SURE, UNSURE]), rtol=1e-6
    )


def test_each_may_name_its_classes_in_another_order():
    turned = ensembled([says(SURE), says(UNSURE[:, ::-1])], [["a", "b"], ["b", "a"]], ["a", "b"])
    np.testing.assert_allclose(
        turned.probabilities(["x", "y"]), geometric(SURE, UNSURE), rtol=1e-5, atol=1e-6
    )


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(40, seed=1)]


def test_a_blend_stands_alone_and_says_what_it_is_made_of(examples, fresh_run, tmp_path):
    tfidf = linear(examples, tmp_path / "linear")
    network = fresh_run("network", ["négatif", "positif"])
    run = ensemble([tfidf, network], tmp_path / "out")
    texts = [example.text for example in examples[:5]]
    expected = load_linear(run).probabilities(texts)
    assert run.manifest().result == {"feature_runs": f"{tfidf.name}, {network.name}"}
    assert run.manifest().labels == ["négatif", "positif"]
    for source in (tfidf, network):
        shutil.rmtree(source.path)
    np.testing.assert_allclose(load_linear(run).probabilities(texts), expected)
    np.testing.assert_allclose(expected.sum(axis=1), 1)


def test_a_blend_of_models_of_the_same_texts_knows_them(examples, tmp_path):
    first, second = (linear(examples, tmp_path / str(seed), seed=seed) for seed in (0, 1))
    other = linear(examples[:30], tmp_path / "other")
    texts = first.manifest().lineage.data
    assert ensemble([first, second], tmp_path / "same").manifest().lineage.data == texts
    assert ensemble([first, other], tmp_path / "mixed").manifest().lineage.data == {}


def test_what_cannot_be_blended(examples, fresh_run, tmp_path):
    tfidf = linear(examples, tmp_path / "linear")
    with pytest.raises(RecipeError, match="nothing to blend"):
        ensemble([tfidf], tmp_path / "x")
    with pytest.raises(MismatchError, match="same classes"):
        ensemble([tfidf, fresh_run("stars", ["1", "2", "3"])], tmp_path / "x")
    with pytest.raises(RunError, match="labels nothing"):
        ensemble([tfidf, fresh_run("base")], tmp_path / "x")
    assert not (tmp_path / "x").exists()
    with pytest.raises(RunExistsError):
        ensemble([tfidf, tfidf], tfidf.path)
    with pytest.raises(RunExistsError, match="which this command reads"):
        ensemble([tfidf, tfidf], tfidf.path, overwrite=True)
    assert tfidf.manifest().status == "finished"
