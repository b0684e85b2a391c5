"""The manifest, shipped bases and the metrics of a run."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import greffe
from greffe import run as run_module
from greffe.config.recipe import Recipe
from greffe.errors import CorruptError, RunError
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.run import (
    METRICS_FILE,
    RECIPE_FILE,
    RUN_FILE,
    Calibration,
    Manifest,
    RunDirectory,
    bases_folder,
    new_lineage,
    open_run,
    run_path,
    shipped_bases,
)


def make_manifest(**fields: Any) -> Manifest:
    return Manifest(
        **{
            "kind": "language-model",
            "status": "training",
            "vocab": 300,
            "heads": {"next_token": NextTokenHead()},
            "directions": ["causal"],
            "lineage": new_lineage(
                threads=1, initial_base="b", tokenizer="t", data={"corpus": "c"}
            ),
            **fields,
        }
    )


def classifier_lineage() -> dict[str, Any]:
    return make_manifest().lineage.model_dump(mode="json")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run that has started."""
    made = RunDirectory(tmp_path / "run")
    made.path.mkdir()
    made.write_recipe(Recipe())
    made.write_manifest(make_manifest())
    return made


# --- the manifest -------------------------------------------------------------------------------


def test_manifest_and_recipe_are_read_as_written(run: RunDirectory) -> None:
    again = RunDirectory.open(run.path)
    assert again.manifest() == run.manifest()
    assert again.manifest().heads == {"next_token": NextTokenHead()}
    assert again.recipe() == Recipe()
    assert again.manifest().lineage.versions["greffe"] == greffe.__version__


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace('"format": 1', '"format": 2'),
        lambda text: text.replace('"vocab": 300', '"vocab": "many"'),
        lambda text: text.replace('"vocab"', '"vocabulary"'),
    ],
)
def test_a_damaged_manifest_is_an_error_that_names_it(run: RunDirectory, damage: Any) -> None:
    path = run.path / RUN_FILE
    path.write_text(damage(path.read_text()))
    with pytest.raises(CorruptError, match="damaged") as caught:
        RunDirectory.open(run.path)
    assert str(path) in str(caught.value)


def test_opening_something_else_says_what_was_found(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no run at"):
        RunDirectory.open(tmp_path / "nothing")
    with pytest.raises(RunError, match="is not a run"):
        RunDirectory.open(tmp_path)
    (tmp_path / "corpus.json").write_text("{}")
    with pytest.raises(RunError, match="is not a run") as caught:
        RunDirectory.open(tmp_path)
    assert caught.value.found == "a prepared corpus"


def test_a_run_without_its_recipe(run: RunDirectory) -> None:
    (run.path / RECIPE_FILE).unlink()
    with pytest.raises(CorruptError, match="missing"):
        run.recipe()


def classifier(**fields: Any) -> dict[str, Any]:
    """Return the manifest of a classifier of two classes, as JSON."""
    head = ClassificationHead(classes=2)
    manifest = make_manifest(
        kind="classifier",
        status="finished",
        heads={"classification": head},
        labels=["no", "yes"],
        direction="causal",
        weights="w",
        result={"seconds": 1.5, "tokens": 10},
    )
    return manifest.model_dump(mode="json") | fields


@pytest.mark.parametrize(
    ("damage", "field"),
    [
        ({"format": 2}, "format"),
        ({"vocab": -1}, "vocab"),
        ({"vocab": 0}, "vocab"),
        ({"vocab": 10**12}, "vocab"),
        ({"weights": None}, "weights"),
        ({"weights": 3}, "weights"),
        ({"labels": ["no", "no"]}, "labels"),
        ({"labels": ["no"]}, "labels"),
        ({"labels": ["no", "perhaps", "yes"]}, "labels"),
        ({"labels": "noyes"}, "labels"),
        ({"direction": None}, "direction"),
        ({"directions": []}, "directions"),
        ({"heads": {}}, "head"),
        ({"heads": {"classification": {"kind": "next_token"}}}, "heads"),
        ({"heads": {"classification": {"kind": "classification"}}}, "classes"),
        ({"heads": {"classification": {"kind": "no_such"}}}, "kind"),
        ({"heads": {"next_token": {"kind": "next_token"}}}, "head"),
        ({"heads": [1]}, "heads"),
        ({"lineage": None}, "lineage"),
        ({"feature_runs": "abc"}, "feature_runs"),
        ({"result": {"seconds": "long"}}, "seconds"),
        ({"result": {"tokens": -1}}, "tokens"),
        ({"result": {"accuracy": [0.5]}}, "accuracy"),
        ({"kind": "linear", "lineage": {**classifier_lineage(), "initial_base": ""}}, "weights"),
    ],
)
def test_a_manifest_whose_parts_contradict_each_other(
    run: RunDirectory, damage: dict[str, Any], field: str
) -> None:
    (run.path / RUN_FILE).write_text(json.dumps(classifier()))
    assert RunDirectory.open(run.path).manifest().labels == ["no", "yes"]
    (run.path / RUN_FILE).write_text(json.dumps(classifier(**damage)))
    with pytest.raises(CorruptError, match="damaged or from another version") as caught:
        RunDirectory.open(run.path)
    assert field in (caught.value.found or "")


def test_a_missing_figure_is_an_error() -> None:
    manifest = make_manifest(result={"steps": 3})
    assert manifest.figure("steps") == 3
    with pytest.raises(CorruptError, match="seconds"):
        manifest.figure("seconds")


CALIBRATION = {
    "temperature": 1.5,
    "texts": 100,
    "log_loss_before": 0.5,
    "log_loss_after": 0.4,
    "ece_before": 0.1,
    "ece_after": 0.02,
}


def labelled_manifest(**fields: Any) -> Manifest:
    lineage = classifier_lineage() | {"initial_base": ""}
    given = {"kind": "linear", "status": "finished", "vocab": 0, "heads": {}, "directions": []}
    return Manifest(**{**given, "labels": ["a", "b"], "lineage": lineage, **fields})


def test_a_calibration_is_read_as_written(run: RunDirectory) -> None:
    run.write_manifest(labelled_manifest())
    assert "calibration" not in json.loads((run.path / RUN_FILE).read_bytes())
    with pytest.raises(RunError, match="not calibrated") as caught:
        run.require_calibration()
    assert f"greffe calibrate {run.path} --data TABLE" in str(caught.value.hint)
    run.write_manifest(labelled_manifest(calibration=CALIBRATION))
    assert run.require_calibration() == Calibration(**CALIBRATION)
    assert "log loss 0.5000 → 0.4000" in run.require_calibration().describe()


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0},
        {"temperature": 21},
        {"temperature": "hot"},
        {"texts": -1},
        {"log_loss_after": -0.1},
        {"log_loss_before": float("inf")},
        {"ece_before": 1.1},
        {"more": 1},
    ],
)
def test_a_calibration_within_bounds_only(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        labelled_manifest(calibration=CALIBRATION | change)


def test_only_finished_runs_with_labels_are_calibrated() -> None:
    with pytest.raises(ValidationError, match="calibration"):
        labelled_manifest(status="training", calibration=CALIBRATION)
    with pytest.raises(ValidationError, match="calibration"):
        make_manifest(calibration=CALIBRATION)


# --- shipped bases -----------------------------------------------------------------------------


@pytest.fixture
def shipped(run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    """A run that ships as `greffe-xx`, and an empty working directory."""
    bases = tmp_path / "package" / "bases"
    bases.mkdir(parents=True)
    run.path.rename(bases / "greffe-xx")
    (bases / "notes").mkdir()
    monkeypatch.setattr(run_module, "bases_folder", lambda: bases)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return RunDirectory(bases / "greffe-xx")


def test_shipped_bases_are_finished_runs() -> None:
    assert shipped_bases() == sorted(path.name for path in bases_folder().glob("*"))
    for name in shipped_bases():
        assert RunDirectory.open(name).manifest().status == "finished"


def test_a_package_without_bases_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "bases_folder", lambda: tmp_path / "none")
    assert shipped_bases() == []
    with pytest.raises(RunError, match="no run at greffe-xx") as caught:
        RunDirectory.open("greffe-xx")
    assert (
        caught.value.expected == "a folder that greffe pretrain, finetune, linear or ensemble wrote"
    )


@pytest.mark.parametrize("kind", [str, Path])
def test_a_shipped_base_is_opened_by_its_name(
    shipped: RunDirectory, kind: Callable[[str], str | Path]
) -> None:
    assert shipped_bases() == ["greffe-xx"]
    found = RunDirectory.open(kind("greffe-xx"))
    assert found.path == shipped.path == run_path("greffe-xx")
    assert found.is_shipped and found.name == "greffe-xx"
    assert repr(found) == "RunDirectory('greffe-xx')"
    assert open_run("greffe-xx").name == "greffe-xx"


def test_a_shipped_base_has_the_same_name_by_path(
    shipped: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shipped.path.parent)
    assert RunDirectory.open("greffe-xx").name == "greffe-xx"
    assert RunDirectory.open(shipped.path).is_shipped


def test_a_folder_in_the_working_directory_comes_first(shipped: RunDirectory) -> None:
    shutil.copytree(shipped.path, "greffe-xx")
    found = RunDirectory.open("greffe-xx")
    assert found.path == Path("greffe-xx") and not found.is_shipped
    shutil.rmtree("greffe-xx")
    Path("greffe-xx").mkdir()
    with pytest.raises(RunError, match="is not a run"):
        RunDirectory.open("greffe-xx")


@pytest.mark.parametrize("path", ["runs/greffe-xx", "./runs/../greffe-xx", "notes", "", "."])
def test_only_a_name_without_a_folder_is_a_shipped_base(shipped: RunDirectory, path: str) -> None:
    assert run_path(path) == Path(path)


def test_the_error_for_an_unknown_name_lists_the_shipped_bases(shipped: RunDirectory) -> None:
    with pytest.raises(RunError, match="no run at gref-xx") as caught:
        RunDirectory.open("gref-xx")
    assert "greffe-xx, part of the package" in str(caught.value)
    assert caught.value.hint == "did you mean greffe-xx?"
    with pytest.raises(RunError) as caught:
        RunDirectory.open("runs/base")
    assert caught.value.hint == "check the spelling of the path"


def test_the_name_of_another_run_is_its_path(run: RunDirectory) -> None:
    assert not run.is_shipped and run.name == str(run.path)


# --- metrics ------------------------------------------------------------------------------------


def test_metrics_are_read_as_written(run: RunDirectory) -> None:
    assert list(run.metrics()) == []
    run.log(step=1, kind="train", loss=2.5)
    run.log(step=2, kind="valid", note="é", skipped=True)
    assert list(run.metrics()) == [
        {"step": 1, "kind": "train", "loss": 2.5},
        {"step": 2, "kind": "valid", "note": "é", "skipped": True},
    ]


def test_a_loss_that_is_not_finite_is_null(run: RunDirectory) -> None:
    run.log(step=1, loss=float("nan"), norm=float("inf"))

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    text = (run.path / METRICS_FILE).read_text()
    assert json.loads(text, parse_constant=refuse) == {"step": 1, "loss": None, "norm": None}


@pytest.mark.parametrize("cut", [1, 2, 3, 12])
def test_an_incomplete_line_is_left_out_and_removed(run: RunDirectory, cut: int) -> None:
    run.log(step=1)
    run.log(step=2, kind="é")
    path = run.path / METRICS_FILE
    path.write_bytes(path.read_bytes()[:-cut])
    assert [line["step"] for line in run.metrics()] == [1]
    run.rewind_metrics(5)
    run.log(step=3)
    assert [line["step"] for line in run.metrics()] == [1, 3]


def test_rewinding_removes_the_lines_after_the_step(run: RunDirectory) -> None:
    for step in (10, 20, 20, 30):
        run.log(step=step, kind="train")
    run.rewind_metrics(20)
    assert [line["step"] for line in run.metrics()] == [10, 20, 20]
    run.rewind_metrics(0)
    assert list(run.metrics()) == []


@pytest.mark.parametrize(
    "damage",
    [
        *(b'{"st\xffep": 2\n', b"[1]\n", b"{}\n", b"null\n", b"\n", b"\0" * 4096 + b"\n"),
        *(b'{"step": -1}\n', b'{"step": "2"}\n', b'{"step": 1.5}\n', b'{"step": 1e999}\n'),
        *(b'{"step": 2, "loss": NaN}\n', b'{"step": 2, "loss": 1e999}\n'),
        *(b'{"step": 2, "accuracy": 1e30}\n', b'{"step": 2, "macro_f1": -1}\n'),
        *(b'{"step": 2, "loss": "low"}\n', b'{"step": 2, "lr": [1]}\n', b"[" * 10**5 + b"\n"),
        b'{"step": ' + b"9" * 5000 + b"}\n",
    ],
)
def test_damaged_lines_of_metrics_are_counted_and_removed(
    run: RunDirectory, damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run.path / METRICS_FILE
    path.write_bytes(b'{"step": 1}\n' + damage + b'{"step": 3}\n' + b"\0" * 512)
    assert [line["step"] for line in run.metrics()] == [1, 3]
    assert "2 damaged lines" in capsys.readouterr().err
    run.rewind_metrics(5)
    assert path.read_bytes() == b'{"step": 1}\n{"step": 3}\n'


def test_metrics_with_a_lone_surrogate_are_kept(run: RunDirectory) -> None:
    path = run.path / METRICS_FILE
    path.write_bytes(b'{"step": 1, "kind": "\\ud800"}\n{"step": 2}\n')
    run.rewind_metrics(1)
    assert path.read_bytes() == b'{"step": 1, "kind": "\\ud800"}\n'


@pytest.mark.parametrize("program", ["/usr/bin/greffe", "/somewhere/greffe/__main__.py"])
def test_the_command_is_recorded_by_its_name(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [program, "show", "lab"])
    assert run_module.this_command() == ["greffe", "show", "lab"]
