"""Feature runs of a study: each reads a text once, and must not have seen the test texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from greffe.baselines.linear_runs import open_feature_run
from greffe.config.option_groups import flat_keywords
from greffe.data.tables import Example
from greffe.errors import CorruptError, MismatchError, RunError
from greffe.pipelines import linear as linear_module
from greffe.pipelines.labelled import data_hash
from greffe.pipelines.provenance import FeatureRuns, refuse_trained_on, warn_if_trained_on
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews

linear = flat_keywords(linear_module.linear)


Trained = Callable[[int], RunDirectory]


def reviews(count: int, seed: int) -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(count, seed=seed)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A linear run trained on thirty reviews drawn with a seed."""
    folder = tmp_path_factory.mktemp("feature_runs")

    def make(seed: int) -> RunDirectory:
        return linear(reviews(30, seed), folder / str(seed), overwrite=True)

    return make


def test_readers_give_the_features_of_their_runs(trained: Trained) -> None:
    first, second = trained(11), trained(12)
    texts = [example.text for example in reviews(6, 3)]
    readers = FeatureRuns([first, second, first]).readers([second, first, second])
    assert readers[0] is readers[2]
    for reader, run in zip(readers, (second, first, second), strict=True):
        np.testing.assert_array_equal(reader.features(texts), open_feature_run(run).features(texts))


def test_a_run_trained_on_the_test_texts_is_refused(trained: Trained, tmp_path: Path) -> None:
    inner = trained(11)
    refuse_trained_on([inner], {data_hash(reviews(30, 12))})
    outer = linear(reviews(30, 12), tmp_path / "outer", feature_runs=[inner])
    for run, where in ((inner, "its train part"), (outer, "one of its feature runs")):
        with pytest.raises(MismatchError, match="was trained on the test texts") as caught:
            refuse_trained_on([trained(13), run], {data_hash(reviews(30, 11))})
        assert where in str(caught.value) and run.name in str(caught.value)


def test_a_run_trained_on_the_training_texts_prints_a_notice(
    trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner, training = trained(11), {data_hash(reviews(30, 11))}
    outer = linear(reviews(30, 12), tmp_path / "outer", feature_runs=[inner])
    capsys.readouterr()
    warn_if_trained_on([trained(13)], training)
    assert "was trained on" not in capsys.readouterr().err
    warn_if_trained_on([inner, outer], training)
    notices = capsys.readouterr().err
    assert f"{inner.name} was trained on" in notices and f"{outer.name} was trained on" in notices


def test_language_models_and_damaged_runs_cannot_be_opened(
    trained: Trained, fresh_run: Callable[..., RunDirectory]
) -> None:
    with pytest.raises(RunError, match="predicts no labels"):
        FeatureRuns([fresh_run("model")])
    damaged = trained(14)
    (damaged.path / "linear.safetensors").write_bytes(b"")
    with pytest.raises(CorruptError):
        FeatureRuns([damaged])
