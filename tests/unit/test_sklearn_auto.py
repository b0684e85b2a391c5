"""The estimator with auto=True: the best of several models, as `greffe fit` finds it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.estimators import LABELS, pickled

import greffe
from greffe.api import fitting
from greffe.errors import InterruptedRunError, RecipeError
from greffe.run import RunDirectory
from greffe.sklearn import GreffeClassifier

# In Russian, which greffe-fr does not know: without a base, only linear models are tried.
TEXTS = [f"{word} {word} {number}" for number in range(12) for word in ("хорошо", "плохо")]


class Noted(Exception):
    """Ends a fit whose options are noted."""


def auto_classifier(**parameters: Any) -> GreffeClassifier:
    """Return a classifier that chooses among linear models in a moment."""
    quick = {"base": None, "auto": True, "budget": "2s", "precision": "fp32", "random_state": 0}
    return GreffeClassifier(**{**quick, **parameters})


@pytest.fixture(scope="module")
def fitted() -> GreffeClassifier:
    return auto_classifier().fit(TEXTS, LABELS)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary folders."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the estimator passes to `greffe.api.fitting.fit`, which only notes it."""
    options: dict[str, Any] = {}

    def note(**given: Any) -> None:
        options.update(given)
        raise Noted

    monkeypatch.setattr(fitting, "fit", note)
    return options


# --- parameters -----------------------------------------------------------------------------------


def test_parameters_are_stored_as_they_are(fitted: GreffeClassifier) -> None:
    assert (GreffeClassifier().auto, GreffeClassifier().unlabelled) == (False, ())
    sources = ["corpus.txt", Path("more")]
    estimator = auto_classifier(unlabelled=sources)
    assert estimator.unlabelled is sources
    copied = clone(estimator)
    assert copied.get_params()["auto"] is True
    assert copied.get_params()["unlabelled"] == sources
    assert copied.set_params(auto=False).get_params()["auto"] is False
    assert not hasattr(clone(fitted), "run_")


@pytest.mark.parametrize(("name", "value"), [("like", "greffe-fr"), ("recipe", "tiny")])
def test_what_has_no_effect_is_refused(name: str, value: str, temporary: Path) -> None:
    message = f"'{name}' parameter of GreffeClassifier has no effect with auto=True"
    with pytest.raises(ValueError, match=message):
        auto_classifier(**{name: value}).fit(TEXTS, LABELS)
    assert list(temporary.iterdir()) == []


def test_options_reach_fit(passed: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "budget": "3m",
        "soup": 2,
        "device": "cpu",
        "precision": "fp32",
        "changes": ["train.lr=1e-4"],
        "aux_data": ["films.tsv"],
        "unlabelled": ["corpus.txt"],
    }
    with pytest.raises(Noted):
        GreffeClassifier(auto=True, n_jobs=1, random_state=5, **given).fit(TEXTS, LABELS)
    assert {name: passed[name] for name in given} == given
    assert (passed["base"], passed["seed"], passed["jobs"]) == ("greffe-fr", 5, 1)
    assert [(each.text, each.label) for each in passed["data"]] == list(
        zip(TEXTS, LABELS, strict=True)
    )


def test_without_a_base_fit_chooses(
    passed: dict[str, Any], fresh_run: Callable[..., RunDirectory]
) -> None:
    run = fresh_run("base")
    for base, expected in ((None, None), (run, run.path), (run.path, run.path)):
        with pytest.raises(Noted):
            auto_classifier(base=base).fit(TEXTS, LABELS)
        assert passed["base"] == expected


# --- fitting and predicting -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (LABELS, ["négatif", "positif"]),
        ([10, 9] * 12, [9, 10]),
        (["9", "10"] * 12, ["10", "9"]),  # greffe orders them as numbers
        ([True, False] * 12, [False, True]),
    ],
)
def test_predictions_are_labels_of_the_same_type(y: Any, classes: list[Any]) -> None:
    estimator = auto_classifier()
    assert estimator.fit(TEXTS, y) is estimator
    assert estimator.classes_.tolist() == classes
    predicted, probabilities = estimator.predict(TEXTS), estimator.predict_proba(TEXTS)
    assert predicted.dtype == estimator.classes_.dtype == np.asarray(y).dtype
    assert predicted.tolist() == list(y)
    assert probabilities.shape == (24, 2)
    assert np.allclose(probabilities.sum(axis=1), 1)


@pytest.mark.slow
def test_a_base_takes_part(
    fresh_run: Callable[..., RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    base = fresh_run("base")
    changes = ["train.budget='1epochs'", "train.soup=1", "train.threads=1"]
    estimator = auto_classifier(base=base, changes=changes, budget="5m").fit(TEXTS, LABELS)
    found = json.loads((estimator.run_.path / "fit.json").read_text("utf-8"))
    assert found["bases"] == [base.name]
    assert {"tfidf", "stacked", "finetuned"} <= {rung["name"] for rung in found["rungs"]}
    assert estimator.score(TEXTS, LABELS) == 1.0
    assert capsys.readouterr().err == ""


def test_errors_of_greffe_stay_what_they_are(temporary: Path) -> None:
    with pytest.raises(RecipeError, match="budget of greffe fit is a time") as caught:
        auto_classifier(budget="8steps").fit(TEXTS, LABELS)
    assert list(temporary.iterdir()) == [], caught  # although the traceback is still there


def test_an_interruption_ends_a_search_too(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(**options: object) -> None:
        raise InterruptedRunError("Stopped.", hint="repeat the command with --resume")

    monkeypatch.setattr(fitting, "fit", stop)
    with pytest.raises(KeyboardInterrupt):
        auto_classifier().fit(TEXTS, LABELS)
    assert list(temporary.iterdir()) == []


# --- copies and runs ------------------------------------------------------------------------------


def test_a_pickle_predicts_without_the_original(temporary: Path) -> None:
    estimator = auto_classifier(device="cpu").fit(TEXTS, LABELS)
    expected = estimator.predict_proba(TEXTS)
    other = pickled(estimator)
    del estimator
    assert len(list(temporary.iterdir())) == 1
    assert np.array_equal(other.predict_proba(TEXTS), expected)
    assert other.run_.computing.device == "cpu"
    del other
    assert list(temporary.iterdir()) == []


def test_a_saved_classifier_is_a_run(fitted: GreffeClassifier, tmp_path: Path) -> None:
    path = tmp_path / "saved"
    assert fitted.save(path).labels == ["négatif", "positif"]
    run = greffe.load(path, precision="fp32")
    assert run.evaluate(list(zip(TEXTS, LABELS, strict=True))).accuracy == 1.0
    loaded = GreffeClassifier.load(path, precision="fp32")
    assert loaded.run_.path == path
    assert np.array_equal(loaded.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


def test_labels_are_loaded_with_their_type(tmp_path: Path) -> None:
    auto_classifier().fit(TEXTS, [10, 9] * 12).save(tmp_path / "run")
    loaded = GreffeClassifier.load(tmp_path / "run")
    assert loaded.classes_.tolist() == [9, 10]
    assert loaded.predict(TEXTS[:2]).tolist() == [10, 9]
