"""The estimator: parameters, fitting, predicting, pickling, and its runs on disk."""

from __future__ import annotations

import copy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from tests.estimators import LABELS, TEXTS, pickled, tiny_classifier

import greffe
from greffe.api import training
from greffe.errors import (
    CorruptError,
    InputError,
    InterruptedRunError,
    RecipeError,
    RunError,
    RunExistsError,
)
from greffe.pipelines.labelled import VALIDATION_FRACTION
from greffe.run import RunDirectory
from greffe.sklearn import GreffeClassifier
from greffe.sklearn.carried_run import TemporaryFolder, _remove


@pytest.fixture(scope="module")
def fitted() -> GreffeClassifier:
    return tiny_classifier().fit(TEXTS, LABELS)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary folders."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


# --- parameters -----------------------------------------------------------------------------------


def test_the_estimator_is_imported_without_torch() -> None:
    code = (
        "import sys, greffe.sklearn, sklearn;"
        "print(greffe.sklearn.GreffeClassifier.__name__, sklearn.__name__, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "GreffeClassifier sklearn False\n", done.stderr


def test_parameters_are_stored_as_they_are(fitted: GreffeClassifier) -> None:
    base = greffe.load("greffe-fr")
    estimator = GreffeClassifier(base, budget="3epochs", changes=["train.lr=1e-3"])
    assert estimator.base is base
    copied = clone(estimator)
    assert copied.base.path == base.path
    assert copied.get_params()["changes"] == ["train.lr=1e-3"]
    assert copied.set_params(budget="1m", random_state=3).get_params()["budget"] == "1m"
    assert not hasattr(clone(fitted), "run_")


def test_its_tags_say_what_it_takes() -> None:
    tags = get_tags(GreffeClassifier())
    inputs = tags.input_tags
    assert (inputs.string, inputs.one_d_array, inputs.two_d_array) == (True, True, False)
    assert tags.requires_fit and tags.target_tags.required and tags.non_deterministic
    assert is_classifier(GreffeClassifier())


def test_texts_are_held_out_as_in_the_command() -> None:
    assert GreffeClassifier().validation_fraction == VALIDATION_FRACTION
    half = tiny_classifier(validation_fraction=0.5).fit(TEXTS, LABELS)
    assert half.run_.manifest().lineage.sizes == {"train": "12 texts", "valid": "12 texts"}
    with pytest.raises(ValueError, match="validation_fraction == 1, must be < 1"):
        tiny_classifier(validation_fraction=1).fit(TEXTS, LABELS)


def test_how_long_texts_are_read_is_checked(fitted: GreffeClassifier) -> None:
    message = "'long' parameter of GreffeClassifier must be a str among {'windows', 'cut'}"
    other = copy.copy(fitted).set_params(long="window")
    for use in (lambda: other.predict(TEXTS), lambda: other.fit(TEXTS, LABELS)):
        with pytest.raises(ValueError, match=message):
            use()


def test_the_seed_is_scikit_learns(fitted: GreffeClassifier) -> None:
    first = fitted.predict_proba(TEXTS)
    assert (tiny_classifier(random_state=np.int64(0)).fit(TEXTS, LABELS).run_.recipe().seed) == 0
    assert np.array_equal(tiny_classifier().fit(TEXTS, LABELS).predict_proba(TEXTS), first)
    state = np.random.RandomState(0)
    estimator = tiny_classifier(random_state=state)
    seeds = [estimator.fit(TEXTS, LABELS).run_.recipe().seed for _ in range(2)]
    again = np.random.RandomState(0)
    assert seeds == [again.randint(2**31 - 1) for _ in range(2)]
    with pytest.raises(ValueError, match="cannot be used to seed"):
        tiny_classifier(random_state="seed").fit(TEXTS, LABELS)


def test_options_reach_the_training(
    fresh_run: Callable[..., RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    base = fresh_run("base")
    auxiliary = [(f"film {text}", label) for text, label in zip(TEXTS, LABELS, strict=True)]
    estimator = GreffeClassifier(
        base.path,
        budget="2steps",
        soup=2,
        n_jobs=1,
        device="cpu",
        precision="fp32",
        changes=["train.threads=1", "train.lr=1e-4"],
        aux_data=[auxiliary],
        long="cut",
        random_state=5,
        verbose=True,
    ).fit(TEXTS, LABELS)
    train = estimator.run_.recipe().train
    assert (train.budget, train.soup, train.precision, train.lr) == ("2steps", 2, "fp32", 1e-4)
    lineage = estimator.run_.manifest().lineage
    assert "earlier auxiliary 1" in lineage.data
    assert "with auxiliary labels, then your labels" in capsys.readouterr().err
    long = [" ".join(TEXTS)]
    assert not np.array_equal(
        estimator.predict_proba(long), estimator.set_params(long="windows").predict_proba(long)
    )
    like = tiny_classifier(recipe=None, like=base, changes=["train.threads=1"]).fit(TEXTS, LABELS)
    assert like.run_.recipe().model == base.recipe().model
    assert like.run_.manifest().lineage.parent is None
    assert capsys.readouterr().err == ""


# --- fitting and predicting -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (LABELS, ["négatif", "positif"]),
        ([10, 9] * 12, [9, 10]),
        (["9", "10"] * 12, ["10", "9"]),  # greffe orders them as numbers
        (np.array([-1, 7] * 12, dtype=np.int8), [-1, 7]),
        ([True, False] * 12, [False, True]),
    ],
)
def test_predictions_are_labels_of_the_same_type(y: Any, classes: list[Any]) -> None:
    estimator = tiny_classifier()
    assert estimator.fit(TEXTS, y) is estimator
    assert estimator.classes_.tolist() == classes
    assert estimator.classes_.dtype == np.asarray(y).dtype
    predicted, probabilities = estimator.predict(TEXTS), estimator.predict_proba(TEXTS)
    assert predicted.dtype == np.asarray(y).dtype
    assert probabilities.shape == (24, 2)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert estimator.score(TEXTS, y) == 1.0
    of_run = estimator.run_.predict(TEXTS[:3])
    for index, label in enumerate(map(str, classes)):
        # Batches of other sizes add in another order.
        found = [one.probabilities[label] for one in of_run]
        assert found == pytest.approx(probabilities[:3, index], abs=1e-6)


def test_it_must_be_fitted_first(tmp_path: Path) -> None:
    for use in (
        lambda: GreffeClassifier().predict(TEXTS),
        lambda: GreffeClassifier().predict_proba(TEXTS),
        lambda: GreffeClassifier().save(tmp_path / "run"),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("parameters", "kind", "message"),
    [
        ({"base": "runs/none"}, RunError, "There is no run at runs/none"),
        ({"recipe": None}, RecipeError, "nothing to fine-tune"),
        ({"like": "greffe-fr", "base": "greffe-fr"}, RecipeError, "--like has no effect"),
        ({"budget": "soon"}, RecipeError, "soon"),
        ({"changes": ["train.nope=1"]}, RecipeError, "nope"),
        ({"recipe": "tiniest"}, InputError, "tiniest"),
    ],
)
def test_errors_of_greffe_stay_what_they_are(
    parameters: dict[str, Any], kind: type[Exception], message: str, temporary: Path
) -> None:
    with pytest.raises(kind, match=message) as caught:
        tiny_classifier(**parameters).fit(TEXTS, LABELS)
    assert list(temporary.iterdir()) == [], caught  # although the traceback is still there


def test_an_interruption_ends_a_search_too(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: object, **options: object) -> None:
        raise InterruptedRunError("Stopped.", hint="repeat the command with --resume")

    monkeypatch.setattr(training, "finetune", stop)
    with pytest.raises(KeyboardInterrupt):
        tiny_classifier().fit(TEXTS, LABELS)
    assert list(temporary.iterdir()) == []


# --- copies and temporary folders -----------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_predict_without_the_original(
    copied: Callable[[GreffeClassifier], GreffeClassifier], temporary: Path
) -> None:
    estimator = tiny_classifier(device="cpu").fit(TEXTS, LABELS)
    expected = estimator.predict_proba(TEXTS)
    other = copied(estimator)
    del estimator
    assert len(list(temporary.iterdir())) == 1
    assert np.array_equal(other.predict_proba(TEXTS), expected)
    assert other.run_.computing.device == "cpu"
    assert other.run_.manifest().result["steps"] == 8
    del other
    assert list(temporary.iterdir()) == []


def test_a_run_outlives_its_estimator_and_a_new_fit(temporary: Path) -> None:
    estimator = tiny_classifier().fit(TEXTS, LABELS)
    run = estimator.run_
    estimator.fit(TEXTS, LABELS)
    assert len(list(temporary.iterdir())) == 2
    assert run.predict(TEXTS[:1])[0].label == "positif"
    del run
    assert [estimator.run_.path.parent] == list(temporary.iterdir())


def test_a_forked_process_leaves_the_folder(temporary: Path) -> None:
    folder = TemporaryFolder()
    _remove(folder.path, owner=1)
    assert folder.path.exists()
    assert folder.remove.atexit
    folder.remove()
    assert not folder.path.exists()


# --- runs -----------------------------------------------------------------------------------------


def test_a_saved_classifier_is_a_run(fitted: GreffeClassifier, tmp_path: Path) -> None:
    path = tmp_path / "saved"
    assert fitted.save(path).labels == ["négatif", "positif"]
    assert "saved" in (path / "README.md").read_text("utf-8")
    run = greffe.load(path, precision="fp32")
    assert run.evaluate(list(zip(TEXTS, LABELS, strict=True))).accuracy == 1.0
    loaded = GreffeClassifier.load(path, precision="fp32")
    assert np.array_equal(loaded.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert loaded.run_.path == path
    in_int8 = GreffeClassifier.load(path, precision="int8").predict_proba(TEXTS)
    assert np.allclose(in_int8, fitted.predict_proba(TEXTS), atol=0.05)
    moved = pickled(loaded)
    assert moved.run_.path != path
    assert moved.predict(TEXTS).tolist() == LABELS


def test_labels_are_loaded_with_their_type(tmp_path: Path) -> None:
    tiny_classifier().fit(TEXTS, [10, 9] * 12).save(tmp_path / "run")
    loaded = GreffeClassifier.load(tmp_path / "run")
    assert loaded.classes_.tolist() == [9, 10]
    assert loaded.predict(TEXTS[:2]).tolist() == [10, 9]
    manifest = (tmp_path / "run" / "run.json").read_text("utf-8")
    damaged = manifest.replace('"10"', '"ten"')
    (tmp_path / "run" / "run.json").write_text(damaged, "utf-8")
    with pytest.raises(CorruptError, match="type that it records"):
        GreffeClassifier.load(tmp_path / "run")


def test_saving_replaces_only_what_it_may(fitted: GreffeClassifier, tmp_path: Path) -> None:
    path = tmp_path / "run"
    fitted.save(path)
    with pytest.raises(RunExistsError, match="already holds a run"):
        fitted.save(path)
    tiny_classifier().fit(TEXTS, [1, 2] * 12).save(path, overwrite=True)
    loaded = GreffeClassifier.load(path)
    assert loaded.classes_.tolist() == [1, 2]
    with pytest.raises(RunExistsError, match="which this command reads"):
        loaded.save(path, overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("", "utf-8")
    with pytest.raises(RunExistsError, match="did not write"):
        fitted.save(tmp_path / "mine", overwrite=True)


def test_every_run_that_labels_texts_is_loaded(
    fitted: GreffeClassifier, tmp_path: Path, fresh_run: Callable[..., RunDirectory]
) -> None:
    linear = greffe.linear(list(zip(TEXTS, LABELS, strict=True)), tmp_path / "linear")
    both = greffe.ensemble([linear, fitted.run_], tmp_path / "both")
    for run in (linear, both):
        loaded = GreffeClassifier.load(run.path)
        assert loaded.score(TEXTS, LABELS) == 1.0
        moved = pickled(loaded)
        assert np.array_equal(moved.predict_proba(TEXTS), loaded.predict_proba(TEXTS))
        loaded.save(tmp_path / "copy", overwrite=True)
        assert GreffeClassifier.load(tmp_path / "copy").predict(TEXTS).tolist() == LABELS
        with pytest.raises(InputError, match="reads the whole text"):
            GreffeClassifier.load(run.path, long="cut").predict(TEXTS)
    with pytest.raises(RunError, match="predicts no labels"):
        GreffeClassifier.load(fresh_run("base").path)
    with pytest.raises(RunError, match="There is no run"):
        GreffeClassifier.load(tmp_path / "nothing")
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        GreffeClassifier.load(linear.path, bugdet="1m")
