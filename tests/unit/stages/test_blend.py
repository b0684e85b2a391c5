"""Several runs as one: the mean of what they say, whatever the order of their classes."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from greffe.data.tables import Example
from greffe.errors import MismatchError, RecipeError, RunError, RunExistsError
from greffe.linear.blending import blended, blended_shares
from greffe.linear.runs import load_linear
from greffe.linear.teachers import Teacher
from greffe.samples.toy import toy_reviews
from greffe.stages.blend import blend
from greffe.stages.stack import stack

SURE = np.array([[0.9, 0.1], [0.2, 0.8]])
UNSURE = np.array([[0.4, 0.6], [0.5, 0.5]])


def says(shares: np.ndarray) -> Teacher:
    return Teacher(shares.shape[1], lambda texts: shares[: len(texts)])


def geometric(*shares: np.ndarray) -> np.ndarray:
    product = np.prod(shares, axis=0) ** (1 / len(shares))
    return product / product.sum(axis=1, keepdims=True)


def test_the_geometric_mean_of_what_is_said():
    both = blended([says(SURE), says(UNSURE)], [["a", "b"], ["a", "b"]], ["a", "b"])
    np.testing.assert_allclose(
        both.probabilities(["x", "y"]), geometric(SURE, UNSURE), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        both.probabilities(["x", "y"]), blended_shares([SURE, UNSURE]), rtol=1e-6
    )


def test_each_may_name_its_classes_in_another_order():
    turned = blended([says(SURE), says(UNSURE[:, ::-1])], [["a", "b"], ["b", "a"]], ["a", "b"])
    np.testing.assert_allclose(
        turned.probabilities(["x", "y"]), geometric(SURE, UNSURE), rtol=1e-5, atol=1e-6
    )


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(40, seed=1)]


def test_a_blend_stands_alone_and_says_what_it_is_made_of(examples, fresh_run, tmp_path):
    linear = stack(examples, tmp_path / "linear")
    network = fresh_run("network", ["négatif", "positif"])
    run = blend([linear, network], tmp_path / "out")
    texts = [example.text for example in examples[:5]]
    expected = load_linear(run).probabilities(texts)
    assert run.manifest().result == {"teachers": f"{linear.name}, {network.name}"}
    assert run.manifest().labels == ["négatif", "positif"]
    for source in (linear, network):
        shutil.rmtree(source.path)
    np.testing.assert_allclose(load_linear(run).probabilities(texts), expected)
    np.testing.assert_allclose(expected.sum(axis=1), 1)


def test_a_blend_of_models_of_the_same_texts_knows_them(examples, tmp_path):
    first, second = (stack(examples, tmp_path / str(seed), seed=seed) for seed in (0, 1))
    other = stack(examples[:30], tmp_path / "other")
    texts = first.manifest().lineage.data
    assert blend([first, second], tmp_path / "same").manifest().lineage.data == texts
    assert blend([first, other], tmp_path / "mixed").manifest().lineage.data == {}


def test_what_cannot_be_blended(examples, fresh_run, tmp_path):
    linear = stack(examples, tmp_path / "linear")
    with pytest.raises(RecipeError, match="nothing to blend"):
        blend([linear], tmp_path / "x")
    with pytest.raises(MismatchError, match="same classes"):
        blend([linear, fresh_run("stars", ["1", "2", "3"])], tmp_path / "x")
    with pytest.raises(RunError, match="labels nothing"):
        blend([linear, fresh_run("base")], tmp_path / "x")
    assert not (tmp_path / "x").exists()
    with pytest.raises(RunExistsError):
        blend([linear, linear], linear.path)
    with pytest.raises(RunExistsError, match="which this command reads"):
        blend([linear, linear], linear.path, overwrite=True)
    assert linear.manifest().status == "finished"
