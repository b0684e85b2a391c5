"""greffe ensemble: what its runs contain and record, and what it refuses."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from greffe.baselines.linear_runs import load_linear
from greffe.config.option_groups import flat_keywords
from greffe.data.tables import Example
from greffe.errors import MismatchError, RecipeError, RunError, RunExistsError
from greffe.pipelines import ensemble as ensemble_module
from greffe.pipelines import linear as linear_module
from greffe.samples.toy import toy_reviews

linear = flat_keywords(linear_module.linear)
ensemble = flat_keywords(ensemble_module.ensemble)


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(40, seed=1)]


def test_an_ensemble_is_self_contained_and_names_its_runs(examples, fresh_run, tmp_path):
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


def test_the_lineage_names_training_texts_that_all_runs_share(examples, tmp_path):
    first, second = (linear(examples, tmp_path / str(seed), seed=seed) for seed in (0, 1))
    other = linear(examples[:30], tmp_path / "other")
    texts = first.manifest().lineage.data
    assert ensemble([first, second], tmp_path / "same").manifest().lineage.data == texts
    assert ensemble([first, other], tmp_path / "mixed").manifest().lineage.data == {}


def test_runs_that_cannot_be_combined(examples, fresh_run, tmp_path):
    tfidf = linear(examples, tmp_path / "linear")
    with pytest.raises(RecipeError, match="at least two runs"):
        ensemble([tfidf], tmp_path / "x")
    with pytest.raises(MismatchError, match="same classes"):
        ensemble([tfidf, fresh_run("stars", ["1", "2", "3"])], tmp_path / "x")
    with pytest.raises(RunError, match="predicts no labels"):
        ensemble([tfidf, fresh_run("base")], tmp_path / "x")
    assert not (tmp_path / "x").exists()
    with pytest.raises(RunExistsError):
        ensemble([tfidf, tfidf], tfidf.path)
    with pytest.raises(RunExistsError, match="which this command reads"):
        ensemble([tfidf, tfidf], tfidf.path, overwrite=True)
    assert tfidf.manifest().status == "finished"
