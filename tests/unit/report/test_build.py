"""Reports on disk: every file, whole, and the same again."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from greffe.errors import RunError, RunExistsError
from greffe.report.build import check_report_folder, write_runs_report, write_study_report
from greffe.study.document import StudyDocument
from greffe.study.folder import STUDY_FILE, StudyDirectory
from greffe.study.run_document import RunDocument

TABLES = {
    *("arms", "comparisons", "epochs", "labels", "confusion", "parameters"),
    *("calibration", "cost", "findings", "disagreements"),
}


def test_every_file_is_written(study: StudyDocument, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    page = write_study_report(study, folder)
    assert page == folder / "report.html"
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert (folder / "report.md").read_text("utf-8").startswith("# Was the pretraining worth it?")
    names = {path.stem for path in (folder / "tables").glob("*.csv")}
    assert names >= TABLES
    for path in folder.glob("tables/*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = list(csv.reader(file))
        assert rows
        assert {len(row) for row in rows} == {len(head)}


def test_the_document_comes_back_from_its_json(study: StudyDocument, tmp_path: Path) -> None:
    write_study_report(study, tmp_path)
    text = (tmp_path / "report.json").read_text("utf-8")
    assert StudyDocument.model_validate(json.loads(text)) == study


def test_the_same_study_gives_the_same_bytes(study: StudyDocument, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_study_report(study, tmp_path / name, language="fr")
    first, second = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "a", tmp_path / "b")
    )
    assert first == second


def test_a_report_built_again_leaves_nothing_of_before(
    study: StudyDocument, bare_study: StudyDocument, tmp_path: Path
) -> None:
    write_study_report(study, tmp_path / "twice")
    write_study_report(bare_study, tmp_path / "twice")
    write_study_report(bare_study, tmp_path / "once")
    for path in (tmp_path / "twice").rglob("*.*"):
        assert (
            path.read_bytes()
            == (tmp_path / "once" / path.relative_to(tmp_path / "twice")).read_bytes()
        )


def test_what_a_killed_process_was_writing_is_removed(study: StudyDocument, tmp_path: Path) -> None:
    write_study_report(study, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    nobody = 2**31 - 1  # larger than any process id
    (tmp_path / f".report.html.{nobody}.tmp").touch()
    (tmp_path / "tables" / f".arms.csv.{nobody}.tmp").touch()
    write_study_report(study, tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_half_a_surrogate_pair_does_not_stop_the_report(
    study: StudyDocument, tmp_path: Path
) -> None:
    odd = study.repeat.model_copy(update={"command": ["greffe", "compare", "caf\udce9.tsv"]})
    page = write_study_report(study.model_copy(update={"repeat": odd}), tmp_path)
    assert "\\udce9" in page.read_text("utf-8")


def test_a_file_in_the_way_is_named(study: StudyDocument, tmp_path: Path) -> None:
    (tmp_path / "report").write_text("in the way")
    with pytest.raises(RunError) as raised:
        write_study_report(study, tmp_path / "report")
    assert str(tmp_path / "report") in str(raised.value)


def test_a_report_of_runs(runs: list[RunDocument], tmp_path: Path) -> None:
    page = write_runs_report([runs[0], runs[0]], tmp_path, language="fr")
    assert "Essais" in page.read_text("utf-8")
    found = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert [run["name"] for run in found] == ["runs/base", "runs/base (2)"]
    with (tmp_path / "tables" / "valid.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["run"], row["step"]) for row in rows] == [
        *(("runs/base", "100"), ("runs/base", "200")),
        *(("runs/base (2)", "100"), ("runs/base (2)", "200")),
    ]


def test_a_report_replaces_no_other_study_and_no_file_of_the_user(
    study: StudyDocument, tmp_path: Path
) -> None:
    mine, its_own = tmp_path / "mine", StudyDirectory(tmp_path / "study")
    for folder in (mine, its_own.path):
        folder.mkdir()
    (its_own.path / STUDY_FILE).write_text("{}")
    (its_own.path / "report.json").write_text("{}")
    check_report_folder(its_own.path, its_own)
    with pytest.raises(RunExistsError, match="another study"):
        check_report_folder(its_own.path)
    (mine / "report.md").write_text("years of work")
    with pytest.raises(RunExistsError, match="did not write"):
        check_report_folder(mine, its_own)
    check_report_folder(tmp_path / "new")
    write_study_report(study, tmp_path / "new")
    check_report_folder(tmp_path / "new")
