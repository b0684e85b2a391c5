"""The plan of a study: what is checked before the first training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from greffe.config.options import Tables, Training
from greffe.data.tables import Example
from greffe.errors import InterruptedRunError, MismatchError, RecipeError, RunError
from greffe.pipelines.labelled import data_hash
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.study.arms import ArmOptions
from greffe.study.folder import StudyDirectory, StudyManifest
from greffe.study.plan import StudyRequest
from greffe.study.runner import compare, make_plan
from greffe.training.distributed import World

POOL = [Example(text, label) for label, text in toy_reviews(90, seed=5)]
DATA, TEST, OTHER = POOL[:50], POOL[50:70], POOL[70:]


@pytest.fixture
def study_request(fresh_run: Callable[..., RunDirectory]) -> StudyRequest:
    return StudyRequest(
        arms=ArmOptions(base=fresh_run("base")),
        tables=Tables(data=DATA, test=TEST),
        seeds=2,
        training=Training(changes=["train.threads=1"]),
    )


def test_auxiliary_texts_are_read_without_copies_of_test_texts(study_request: StudyRequest) -> None:
    tables = replace(study_request.tables, aux_data=[[*OTHER, *TEST[:5]]])
    with quiet():
        plan = make_plan(replace(study_request, tables=tables))
    assert plan.inputs.auxiliary.tables == [OTHER]
    assert plan.arms[-1].name == "tfidf+aux"
    assert "tfidf+aux" not in [arm.name for arm in make_plan(study_request).arms]


def test_a_name_is_checked_before_the_tables_are_read(study_request: StudyRequest) -> None:
    missing = Tables(data="nowhere.tsv")
    arms = replace(study_request.arms, others={"scratch": study_request.arms.base})
    with pytest.raises(RecipeError, match="not a valid name"):
        make_plan(replace(study_request, tables=missing, arms=arms))


def test_an_interrupted_study_continues_without_overwrite(
    study_request: StudyRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise InterruptedRunError("stopped")

    monkeypatch.setattr("greffe.study.runner.compute_cells", stop)
    with quiet(), pytest.raises(InterruptedRunError) as caught:
        compare(study_request, tmp_path / "out", overwrite=True)
    assert str(caught.value.hint).endswith("repeat the command without --overwrite")


def test_device_and_precision_are_recorded_and_kept(
    study_request: StudyRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise InterruptedRunError("stopped")

    monkeypatch.setattr("greffe.study.runner.compute_cells", stop)
    out = tmp_path / "out"

    def begin(request: StudyRequest) -> StudyManifest:
        with quiet(), pytest.raises(InterruptedRunError):
            compare(request, out)
        return StudyDirectory(out).manifest()

    asked = replace(study_request.training, precision="bf16")
    begun = begin(replace(study_request, training=asked))
    assert (begun.device, begun.precision) == ("cpu", "bf16")
    assert begin(study_request).precision == "bf16"
    with quiet():
        first, again, new = (
            make_plan(request, begun)
            for request, begun in (
                (replace(study_request, training=asked), None),
                (study_request, begun),
                (study_request, None),
            )
        )
    assert list(first.keys.values()) == list(again.keys.values())
    recipes = [str(plan.inputs.training.changes) for plan in (first, again, new)]
    assert ["bf16" in text for text in recipes] == [True, True, False]


@pytest.mark.parametrize("role", ["base", "others"])
def test_a_base_in_training_is_refused_before_the_tables_are_read(
    study_request: StudyRequest, fresh_run: Callable[..., RunDirectory], role: str
) -> None:
    unfinished = fresh_run("unfinished")
    manifest = unfinished.manifest()
    unfinished.write_manifest(manifest.model_copy(update={"status": "training"}))
    given = unfinished if role == "base" else {"other": unfinished}
    arms = replace(study_request.arms, **{role: given})  # type: ignore[arg-type]
    with pytest.raises(RunError, match="unfinished is not finished"):
        make_plan(replace(study_request, tables=Tables(data="nowhere.tsv"), arms=arms))


def test_a_base_that_was_trained_on_the_test_texts_is_refused(study_request: StudyRequest) -> None:
    base = study_request.arms.base
    manifest = base.manifest()

    def trained_on(examples: list[Example]) -> None:
        lineage = manifest.lineage.model_copy(update={"data": {"train": data_hash(examples)}})
        base.write_manifest(manifest.model_copy(update={"lineage": lineage}))

    trained_on(OTHER)
    assert make_plan(study_request).runs == {base.path: base}
    trained_on(TEST)
    with pytest.raises(MismatchError, match="base was trained on the test texts"):
        make_plan(study_request)


def test_a_study_runs_in_one_process(
    study_request: StudyRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(World, "join", lambda: World(size=2))
    with pytest.raises(RecipeError, match="runs in one process"):
        compare(study_request, tmp_path / "study")
    assert not (tmp_path / "study").exists()
