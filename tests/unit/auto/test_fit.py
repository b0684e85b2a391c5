"""greffe fit from labels to a run: what it writes, resumes and refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.builders import estimate, findings

import greffe
from greffe.auto import fit as fit_module
from greffe.auto import ladder as ladder_module
from greffe.auto import search as search_module
from greffe.auto.choice import Choice, OutOfFold
from greffe.auto.cross_validate import Clock, CrossValidation, Tried
from greffe.auto.document import FIT_FILE, FitDocument
from greffe.auto.models import Labelled, LinearModel
from greffe.auto.preparing import pretrain_base
from greffe.auto.search import Search, unique_names
from greffe.baselines.linear_runs import feature_runs_of
from greffe.config.options import Computing
from greffe.data.tables import Example
from greffe.doctor.descriptions import describe
from greffe.errors import CorruptError, DataError, MismatchError, RecipeError, RunExistsError
from greffe.run import RunDirectory
from greffe.samples.toy import toy_documents, toy_reviews
from greffe.storage import read_model

ONE_THREAD = ["train.threads=1"]


def document_of(folder: Path) -> FitDocument:
    return read_model(FitDocument, folder / FIT_FILE, "a fit")


def reviews(count: int, seed: int) -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(count, seed=seed)]


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Begins a fit that is interrupted when everything has been tried."""

    def begin(*arguments: Any, **keywords: Any) -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(fit_module, "choose_members", stop)
            greffe.fit(*arguments, **keywords)

    return begin


# --- what is written ------------------------------------------------------------------------------


@pytest.mark.usefixtures("two_folds")
def test_a_fit_from_a_base(
    examples: list[Example], fresh_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    base, out = fresh_run("base"), tmp_path / "out"
    made = greffe.fit(examples, out, base=base.path, budget="10m", changes=ONE_THREAD)
    document = document_of(out)
    names = [rung.name for rung in document.rungs]
    assert names[:5] == ["majority", "tfidf", "features", "stacked", "finetuned"]
    assert document.rungs[0].accuracy.mean == 0.5 and document.rungs[0].over is None
    assert [rung.over is not None for rung in document.rungs[1:]] == [True] * (len(names) - 1)
    assert set(document.chosen) <= set(names) and document.final in document.rungs
    assert document.bases == [base.name] and document.stages == [] and document.skipped == {}
    assert document.expected.mean <= document.final.accuracy.mean + 1e-9
    assert document.texts == 24 and document.folds == 2 and document.repeats == 1
    assert document.doubling is None and document.advice[-1] == "base"
    assert (document.over_tfidf is None) == (document.chosen == ["tfidf"])
    html = (out / "report.html").read_text("utf-8")
    assert "What each part was worth" in html and (out / "report.md").is_file()
    assert not (out / "parts" / "final").exists() and not (out / "parts" / "fold").exists()

    texts = [example.text for example in examples[:3]]
    found = greffe.load(out).predict(texts)
    assert [one.label for one in found] == [one.label for one in made.predict(texts)]
    assert {one.label for one in found} <= set(document.labels)
    manifest = RunDirectory(out).manifest()
    assert manifest.calibration is not None
    assert manifest.result["accuracy"] == document.expected.mean
    assert (out / "README.md").is_file()


@pytest.mark.usefixtures("two_folds")
def test_several_bases_are_tried(
    examples: list[Example], fresh_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "out"
    text.write_text("\n".join(toy_documents(60, seed=0)), "utf-8")
    bases = [fresh_run("one").path, fresh_run("two").path]
    options: dict[str, Any] = {"budget": "40s", "changes": [*ONE_THREAD, "train.budget='1epochs'"]}
    greffe.fit(examples, out, base=bases, unlabelled=[text], aux_data=[reviews(8, 7)], **options)
    document = document_of(out)
    assert [name.rpartition("/")[2] for name in document.bases] == ["one", "two"]
    found = {rung.name for rung in document.rungs} | set(document.skipped)
    assert {"stacked+text+aux", "stacked+aux@two", "finetuned+aux@two"} <= found
    page = (out / "report.md").read_text("utf-8")
    assert "the base's features and auxiliary labels (two)" in page


@pytest.mark.usefixtures("two_folds")
def test_auxiliary_labels_are_skipped_without_time(
    examples: list[Example], fresh_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    out, tables = tmp_path / "out", [reviews(40, seed=7)]
    base = fresh_run("base").path
    greffe.fit(examples, out, base=base, aux_data=tables, budget="0.01s", changes=ONE_THREAD)
    document = document_of(out)
    assert {"stacked+aux", "finetuned+aux"} <= set(document.skipped)
    # The first linear model with auxiliary labels is always tried.
    assert "tfidf+aux" in [rung.name for rung in document.rungs]


def test_bases_of_the_same_name_are_numbered() -> None:
    bases = [RunDirectory(Path("runs", name)) for name in ("mine", "mine", "other", "mine")]
    assert unique_names(bases) == ["mine", "mine-2", "other", "mine-3"]


@pytest.mark.usefixtures("without_base")
def test_a_fit_without_a_base_is_exported(table: Path, tmp_path: Path) -> None:
    run = greffe.fit(table, tmp_path / "out")
    document = document_of(tmp_path / "out")
    assert [rung.name for rung in document.rungs] == ["majority", "tfidf"]
    assert document.chosen == ["tfidf"] and document.bases == []
    assert document.advice == ["auxiliary", "text", "base"]
    texts = [text for _, text in toy_reviews(4, seed=9)]
    exported = greffe.load(greffe.export(run.path, tmp_path / "exported"))
    expected = run.predict(texts)
    for found, ours in zip(exported.predict(texts), expected, strict=True):
        assert found.probabilities == pytest.approx(ours.probabilities, abs=1e-5)


@pytest.mark.usefixtures("two_folds")
def test_auxiliary_labels_take_part(
    examples: list[Example], fresh_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    base = fresh_run("base").path
    tables = [reviews(12, seed=7)]
    greffe.fit(examples, out, base=base, aux_data=tables, changes=ONE_THREAD)
    document = document_of(out)
    assert [rung.name for rung in document.rungs][:6] == [
        *("majority", "tfidf", "tfidf+aux", "features", "stacked+aux", "finetuned+aux")
    ]
    assert document.auxiliary == 12 and [one.name for one in document.stages] == ["intermediate"]
    assert "auxiliary" not in document.advice
    greffe.load(out).predict(["Ce livre est beau."])


@pytest.mark.usefixtures("two_folds")
def test_text_without_labels_is_pretrained_on_and_resumed(
    examples: list[Example],
    fresh_run: Callable[..., RunDirectory],
    interrupted: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    text, base, out = tmp_path / "text.txt", fresh_run("base"), tmp_path / "out"
    text.write_text("\n".join(toy_documents(60, seed=0)), "utf-8")
    options: dict[str, Any] = {
        "unlabelled": [text],
        "base": base.path,
        "budget": "6s",
        "changes": ONE_THREAD,
    }
    interrupted(examples, out, **options)
    pretrained = RunDirectory(out / "parts" / "base")
    assert pretrained.manifest().status == "finished"
    before = pretrained.recipe().train.budget
    given = []

    def watched(*arguments: Any, seconds: float, **keywords: Any) -> Any:
        given.append(seconds)
        return pretrain_base(*arguments, seconds=seconds, **keywords)

    monkeypatch.setattr(search_module, "pretrain_base", watched)
    greffe.fit(examples, out, resume=True, **options)
    document = document_of(out)
    assert document.unlabelled == ["text.txt"] and "text" not in document.advice
    assert [one.name for one in document.stages] == ["pretraining"]
    assert document.bases == [base.name], "what everything began with"
    assert [f"{seconds:.0f}s" for seconds in given] == [before], "though less time is left"
    assert "stacked+text" in [rung.name for rung in document.rungs]
    greffe.load(out).predict(["Ce livre est beau."])


@pytest.mark.usefixtures("two_folds")
def test_a_semantic_analysis_of_the_text_takes_part(
    examples: list[Example],
    fresh_run: Callable[..., RunDirectory],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("greffe.baselines.latent.LEAST_TEXTS", 200)
    text, out = tmp_path / "text.txt", tmp_path / "out"
    text.write_text("\n".join(text for _, text in toy_reviews(300, seed=2)), "utf-8")
    options: dict[str, Any] = {"base": fresh_run("base").path, "changes": ONE_THREAD}
    greffe.fit(examples, out, unlabelled=[text], budget="6s", **options)
    assert "TF-IDF with a latent semantic analysis of your text" in capsys.readouterr().err
    document = document_of(out)
    assert [one.name for one in document.stages][:2] == ["semantics", "pretraining"]
    assert "tfidf+text" in [rung.name for rung in document.rungs]
    greffe.load(out).predict(["Ce livre est beau."])


@pytest.mark.usefixtures("without_base")
def test_findings_and_the_page_are_in_the_language(
    table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note, serious = findings()
    monkeypatch.setattr(fit_module, "examine", lambda _: [note, serious])
    greffe.fit(table, tmp_path / "out", language="fr")
    assert document_of(tmp_path / "out").findings == [describe(serious, "fr")[0]]
    assert f"doctor: {describe(serious)[0]}" in capsys.readouterr().err
    assert "Que faire ensuite" in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.usefixtures("two_folds")
def test_with_the_time_that_is_left_the_best_network_is_repeated(
    examples: list[Example],
    fresh_run: Callable[..., RunDirectory],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(search_module, "MOST_REPEATS", 2)
    # The average is chosen whatever it is worth.
    monkeypatch.setattr(
        fit_module, "choose_members", lambda *_: Choice(("finetuned×2",), estimate(0.8))
    )
    out = tmp_path / "out"
    greffe.fit(examples, out, base=fresh_run("base").path, budget="10m", changes=ONE_THREAD)
    names = [rung.name for rung in document_of(out).rungs]
    assert names[-1] == "finetuned×2" and "finetuned" in names
    folds = {path.name for path in (out / "parts" / "folds").glob("finetuned*")}
    assert any("number-1" in name for name in folds) and any("number" not in n for n in folds)
    (averaged,) = feature_runs_of(RunDirectory(out))
    networks = feature_runs_of(averaged)
    assert len(networks) == 2
    size = document_of(out).final.size
    assert size is not None and size > sum(one.weights_path.stat().st_size for one in networks)
    assert len({one.manifest().weights for one in networks}) == 2, "two seeds"
    texts = [example.text for example in examples[:4]]
    first, second = (greffe.load(one.path).predict(texts) for one in networks)
    for found, one, other in zip(greffe.load(out).predict(texts), first, second, strict=True):
        scores = {
            label: (probability * other.probabilities[label]) ** 0.5
            for label, probability in one.probabilities.items()
        }
        total = sum(scores.values())
        expected = {label: score / total for label, score in scores.items()}
        assert found.probabilities == pytest.approx(expected, abs=1e-4)


# --- what is chosen -------------------------------------------------------------------------------


def test_models_that_were_stopped_are_not_chosen_from(
    examples: list[Example], tmp_path: Path
) -> None:
    """They know few of the texts; the others would be compared on these alone."""
    data = Labelled(examples, ["négatif", "positif"])
    state = Search(CrossValidation(data, tmp_path, Clock(10.0), seed=0))
    targets = state.cross_validation.targets
    shape = (3, len(examples), 2)
    perfect = np.broadcast_to(np.eye(2)[targets], shape)
    part = np.where(np.arange(len(examples))[None, :, None] < 5, perfect, np.nan)
    whole = np.broadcast_to(np.eye(2)[np.zeros(len(examples), int)], shape)
    for name, found, stopped in (("whole", whole, None), ("part", part, 2)):
        model = LinearModel(name, Computing())
        state.tried[name] = Tried(model, OutOfFold(found), stopped_after=stopped)
    assert list(state.finished()) == ["whole"]
    best = state.best()
    assert best is not None and best.model.name == "whole"


@pytest.mark.usefixtures("without_base")
def test_half_of_the_labels_say_what_more_would_bring(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ladder_module, "ENOUGH_TO_HALVE", 40)
    greffe.fit(reviews(40, seed=1), tmp_path / "out")
    doubling = document_of(tmp_path / "out").doubling
    assert doubling is not None and doubling.low <= doubling.mean <= doubling.high


# --- resuming -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("without_base")
def test_a_finished_fit_is_left_as_it_is(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    greffe.fit(table, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    with pytest.raises(RunExistsError, match="already holds a run"):
        greffe.fit(table, out)
    capsys.readouterr()
    greffe.fit(table, out, resume=True)
    assert "already finished" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("without_base")
def test_an_interrupted_fit_is_resumed_with_the_same_data_only(
    examples: list[Example],
    interrupted: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    fresh_run: Callable[..., RunDirectory],
) -> None:
    out = tmp_path / "out"
    interrupted(examples, out)
    base = fresh_run("base")
    for data, options in (
        (examples[:20], {}),
        (examples, {"seed": 1}),
        (examples, {"aux_data": [reviews(8, seed=7)]}),
    ):
        with pytest.raises(MismatchError, match="other data, another base or another seed"):
            greffe.fit(data, out, resume=True, **options)
    with monkeypatch.context() as patch, pytest.raises(MismatchError, match="another base"):
        patch.setattr(fit_module, "choose_bases", lambda *_: [base])
        greffe.fit(examples, out, resume=True)
    plan = out / "parts" / "plan.json"
    kept = plan.read_text()
    plan.write_text('{"spent": "long"}')
    with pytest.raises(CorruptError, match="damaged"):
        greffe.fit(examples, out, resume=True)
    plan.write_text(kept)

    def refuse(*_: object) -> np.ndarray:
        raise AssertionError("all folds are stored")

    monkeypatch.setattr(LinearModel, "held_out_probabilities", refuse)
    greffe.fit(examples, out, resume=True)
    assert document_of(out).chosen == ["tfidf"]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", ["100steps", "2epochs"])
def test_the_budget_is_a_time(examples: list[Example], tmp_path: Path, budget: str) -> None:
    with pytest.raises(RecipeError, match="budget of greffe fit is a time") as caught:
        greffe.fit(examples, tmp_path / "out", budget=budget)
    assert caught.value.found == f"--budget {budget}"
    assert not (tmp_path / "out").exists()


def test_auxiliary_labels_must_be_known(examples: list[Example], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="other labels than the training texts") as caught:
        greffe.fit(examples, tmp_path / "out", aux_data=[[("Un livre", "neutre")]])
    assert caught.value.found == "neutre"
    assert not (tmp_path / "out").exists()


def test_one_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        greffe.fit([("Un livre", "a"), ("Deux livres", "a")], tmp_path / "out")
    assert not (tmp_path / "out").exists()
