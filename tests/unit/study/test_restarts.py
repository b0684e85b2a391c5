"""A study whose trainings collapse says so, in its document and in its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import greffe
from greffe.pipelines import restarts
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.study.folder import StudyDirectory


def contradictory(texts: range) -> list[tuple[str, str]]:
    """Texts that have each label once, so that nothing can be learned from them."""
    return [(f"le roman numéro {n} {n * n}", label) for n in texts for label in ("non", "oui")]


def test_a_study_tells_which_trainings_collapsed(
    fresh_run: Callable[..., RunDirectory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "MOST_RESTARTS", 1)
    with quiet():
        study = greffe.compare(
            fresh_run("base"),
            data=contradictory(range(100, 120)),
            valid=contradictory(range(200, 205)),
            test=contradictory(range(300, 310)),
            out=tmp_path / "study",
            seeds=1,
            budget="50steps",
            jobs=1,
            changes=["train.threads=1", "train.batch=4", "train.lr=1e-5"],
        )
    found = study.results.restarts
    assert [(one.arm, one.labels, one.seed) for one in found] == [
        ("pretrained", 40, 1),
        ("scratch", 40, 1),
    ]
    assert all((one.restarts, one.collapsed) == (1, 1) for one in found)
    cell = StudyDirectory(study.path).cell("scratch-all-1")
    assert cell is not None and cell.result is not None and cell.result.restarted is not None
    assert "Trainings that collapsed with lower learning rates too: pretrained, " in study.verdict
    for name in ("report.md", "report.html"):
        assert "Trainings that collapsed" in (study.path / name).read_text("utf-8")
