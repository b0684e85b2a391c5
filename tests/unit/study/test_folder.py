"""A study's folder: what is written is read again; damage and absence are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from greffe.errors import CorruptError, RunError
from greffe.study.arms import ARMS
from greffe.study.folder import CellFile, CellResult, StudyDirectory, StudyManifest


@pytest.fixture
def study(tmp_path: Path) -> StudyDirectory:
    found = StudyDirectory(tmp_path)
    found.write_manifest(StudyManifest(status="running", cells=["a-all-1", "b-all-1"], settings={}))
    return found


def result() -> CellResult:
    return CellResult(probabilities=[[0.25, 0.75]], validation=0.5, seconds=1.0)


def test_a_cell_is_begun_then_done(study: StudyDirectory) -> None:
    assert study.cell("a-all-1") is None
    study.write_cell("a-all-1", CellFile(key="k"))
    begun = study.cell("a-all-1")
    assert begun is not None
    assert begun.result is None
    study.write_cell("a-all-1", CellFile(key="k", result=result()))
    assert study.cell("a-all-1") == CellFile(key="k", result=result())


def test_an_unfinished_study_says_how_far_it_is(study: StudyDirectory) -> None:
    study.write_cell("a-all-1", CellFile(key="k", result=result()))
    with pytest.raises(RunError, match="not finished") as caught:
        StudyDirectory.open(study.path).document()
    assert caught.value.found == "1 of 2 trainings done"


def test_what_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a study") as caught:
        StudyDirectory.open(tmp_path / "nowhere")
    assert caught.value.found == "nothing"
    with pytest.raises(RunError, match="not a study"):
        StudyDirectory.open(tmp_path)


@pytest.mark.parametrize("content", ["", "{", '{"key": 3}', '{"key": "k", "surprise": 1}'])
def test_a_damaged_cell_is_named(study: StudyDirectory, content: str) -> None:
    study.write_cell("a-all-1", CellFile(key="k"))
    path = study.path / "cells" / "a-all-1.json"
    path.write_text(content)
    with pytest.raises(CorruptError, match=r"a-all-1\.json"):
        study.cell("a-all-1")


@pytest.mark.parametrize(
    "damage",
    [
        {"probabilities": [[0.25, 0.75], [1.0]]},
        {"probabilities": [[0.25, 0.25]]},
        {"probabilities": [[1.5, -0.5]]},
        {"probabilities": [[None, 1.0]]},
        {"probabilities": [0.25, 0.75]},
        {"probabilities": [[1e400, 0.0]]},
        {"validation": 1.5},
        {"seconds": -1},
        {"tokens": -1},
        {"tokens": 10**30},
        {"memory_bytes": "much"},
        {"evaluations": [{"epoch": -1, "accuracy": 0.5, "log_loss": 1.0}]},
        {"moves": [{"part": "embedding", "tensors": 1, "moved": -1}]},
    ],
)
def test_the_figures_of_a_cell_have_bounds(study: StudyDirectory, damage: dict[str, Any]) -> None:
    study.write_cell("a-all-1", CellFile(key="k", result=result()))
    path = study.cell_path("a-all-1")
    content = json.loads(path.read_text())
    content["result"] |= damage
    path.write_text(json.dumps(content))
    with pytest.raises(CorruptError, match=r"a-all-1\.json is damaged"):
        study.cell("a-all-1")


@pytest.mark.parametrize("name", ["../../elsewhere", "/etc/passwd", "a/b", "", "a\0"])
def test_the_name_of_a_cell_is_no_path(study: StudyDirectory, name: str) -> None:
    content = {"status": "running", "cells": [name], "settings": {}}
    (study.path / "study.json").write_text(json.dumps(content))
    with pytest.raises(CorruptError, match="damaged"):
        study.manifest()


def test_every_kind_of_arm_has_a_name_that_a_manifest_accepts() -> None:
    names = [f"{kind}-all-1" for kind in ARMS]
    assert StudyManifest(status="running", cells=names, settings={}).cells == names
