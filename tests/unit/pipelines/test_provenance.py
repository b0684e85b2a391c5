"""Teachers of a study: asked once a text, hashed, and questioned about what they know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from greffe.baselines.linear_runs import open_feature_run
from greffe.data.tables import Example
from greffe.errors import CorruptError, MismatchError, RunError
from greffe.pipelines.labelled import data_hash
from greffe.pipelines.linear import linear
from greffe.pipelines.provenance import FeatureRuns, refuse_trained_on, warn_if_trained_on
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews


def reviews(count: int, seed: int) -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(count, seed=seed)]


@pytest.fixture(scope="module")
def intermediate(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], RunDirectory]:
    """A teacher of thirty reviews from a seed."""
    folder = tmp_path_factory.mktemp("feature_runs")

    def make(seed: int) -> RunDirectory:
        return linear(reviews(30, seed), folder / str(seed), overwrite=True)

    return make


Intermediate = Callable[[int], RunDirectory]


def test_teachers_say_what_they_say_alone(intermediate: Intermediate) -> None:
    first, second = intermediate(11), intermediate(12)
    texts = [example.text for example in reviews(6, 3)]
    readers = FeatureRuns([first, second, first]).readers([second, first, second])
    assert readers[0] is readers[2]
    for reader, run in zip(readers, (second, first, second), strict=True):
        np.testing.assert_array_equal(reader.features(texts), open_feature_run(run).features(texts))


def test_a_teacher_of_the_test_texts_is_refused(intermediate: Intermediate, tmp_path: Path) -> None:
    feature_run = intermediate(11)
    refuse_trained_on([feature_run], {data_hash(reviews(30, 12))})
    pupil = linear(reviews(30, 12), tmp_path / "pupil", feature_runs=[feature_run])
    for run, where in ((feature_run, "its train part"), (pupil, "a teacher of its own")):
        with pytest.raises(MismatchError, match="knows the test texts") as caught:
            refuse_trained_on([intermediate(13), run], {data_hash(reviews(30, 11))})
        assert where in str(caught.value) and run.name in str(caught.value)


def test_a_teacher_of_the_training_texts_is_told(
    intermediate: Intermediate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feature_run, training = intermediate(11), {data_hash(reviews(30, 11))}
    pupil = linear(reviews(30, 12), tmp_path / "pupil", feature_runs=[feature_run])
    capsys.readouterr()
    warn_if_trained_on([intermediate(13)], training)
    assert "learnt from" not in capsys.readouterr().err
    warn_if_trained_on([feature_run, pupil], training)
    told = capsys.readouterr().err
    assert f"{feature_run.name} learnt from these" in told and f"{pupil.name} learnt from" in told


def test_what_cannot_teach_is_an_error_when_opened(
    intermediate: Intermediate, fresh_run: Callable[..., RunDirectory]
) -> None:
    with pytest.raises(RunError, match="predicts no labels"):
        FeatureRuns([fresh_run("model")])
    damaged = intermediate(14)
    (damaged.path / "linear.safetensors").write_bytes(b"")
    with pytest.raises(CorruptError):
        FeatureRuns([damaged])
