"""A study on disk: its manifest, its cells and its document.

study.json          the planned trainings and settings, and whether the study is finished
cells/NAME.json     one training: the hash of its inputs and, once it is done, its result
runs/NAME/          unfinished runs, and the best seed's run of each arm
report.json         the document: all results
report.html …       the report, built from the document
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, field_validator

from greffe.config.bounds import Fraction
from greffe.config.recorded import Count, FileName
from greffe.config.spec import Spec
from greffe.errors import RunError
from greffe.storage import read_model, write_json
from greffe.study.document import StudyDocument
from greffe.study.layer_changes import PartMove
from greffe.training.collapse import Restarted

STUDY_FILE = "study.json"
DOCUMENT_FILE = "report.json"
CELLS, RUNS = "cells", "runs"
DIGITS = 7  # of a probability: more would only fill the disk
SUM_ERROR = 1e-3  # of a row of rounded probabilities, with thousands of classes


class EpochEvaluation(Spec):
    """Validation after some epochs of one training."""

    epoch: float = Field(ge=0)
    accuracy: Fraction
    log_loss: float = Field(ge=0)


class CellResult(Spec):
    """The result of one training."""

    probabilities: list[list[float]]
    """One row per test text, columns in the order of the study's labels."""
    validation: Fraction | None
    """Accuracy of the kept weights on the validation part."""
    evaluations: list[EpochEvaluation] = Field(default_factory=list)
    seconds: float = Field(ge=0)
    tokens: Count = 0
    memory_bytes: Count | None = None
    parameters: Count = 0
    initial_base: str | None = None
    initial_head: str | None = None
    moves: list[PartMove] = Field(default_factory=list)
    restarted: Restarted | None = None
    """Only of a fine-tuning that collapsed."""

    @field_validator("probabilities")
    @classmethod
    def _check_rows(cls, rows: list[list[float]]) -> list[list[float]]:
        if len({len(row) for row in rows}) > 1:
            raise ValueError("rows of different lengths")
        table = np.array(rows)  # [texts, classes]
        if rows and (table.min(initial=0) < 0 or (abs(table.sum(axis=1) - 1) > SUM_ERROR).any()):
            raise ValueError("rows that are no probabilities")
        return rows


def rounded(probabilities: np.ndarray) -> list[list[float]]:
    """Return probabilities [texts, classes] as they are kept in a cell's file."""
    return [[round(float(value), DIGITS) for value in row] for row in probabilities]


class CellFile(Spec):
    """The content of a cell's file; without a result the training is unfinished."""

    key: str
    result: CellResult | None = None


class StudyManifest(Spec):
    """The content of study.json."""

    format: Literal[1] = 1
    kind: Literal["study"] = "study"
    status: Literal["running", "finished"]
    cells: list[FileName]
    device: Literal["cpu", "cuda", "mps"] | None = None
    precision: Literal["fp32", "bf16"] | None = None
    """Of all trainings; a resumed study keeps both."""
    settings: dict[str, Any]


class StudyDirectory:
    """Reads and writes the small files of a study."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Return the study at `path`, or raise an error that says what is there instead."""
        study = cls(path)
        if not study.is_study:
            raise RunError(
                f"{path} is not a study.",
                expected=f"a folder with {STUDY_FILE}, as greffe compare writes it",
                found="a folder or file without it" if study.path.exists() else "nothing",
            )
        study.manifest()
        return study

    @property
    def is_study(self) -> bool:
        """Whether a study was started here."""
        return (self.path / STUDY_FILE).is_file()

    def run_path(self, cell: str) -> Path:
        """Return the folder of a cell's run."""
        return self.path / RUNS / cell

    def cell_path(self, cell: str) -> Path:
        """Return the path of a cell's file."""
        return self.path / CELLS / f"{cell}.json"

    def manifest(self) -> StudyManifest:
        """Return the content of study.json."""
        return read_model(StudyManifest, self.path / STUDY_FILE, "a study's manifest")

    def write_manifest(self, manifest: StudyManifest) -> None:
        """Write study.json, which makes the folder a study."""
        write_json(self.path / STUDY_FILE, manifest.model_dump(mode="json"))

    def cell(self, name: str) -> CellFile | None:
        """Return a cell's file, or None."""
        path = self.cell_path(name)
        if not path.exists():
            return None
        hint = "remove this file, and the command that started the study computes it again"
        return read_model(CellFile, path, "a cell of a study", hint=hint)

    def write_cell(self, name: str, cell: CellFile) -> None:
        """Write a cell's file."""
        path = self.cell_path(name)
        path.parent.mkdir(exist_ok=True)
        write_json(path, cell.model_dump(mode="json"))

    def document(self) -> StudyDocument:
        """Return the results of a finished study."""
        if not (self.path / DOCUMENT_FILE).exists():
            raise RunError(
                f"The study in {self.path} is not finished.",
                expected=f"{DOCUMENT_FILE}, written at its end",
                found=f"{self._done()} of {len(self.manifest().cells)} trainings done",
                hint="the greffe compare command that started it resumes it",
            )
        return read_model(StudyDocument, self.path / DOCUMENT_FILE, "a study's document")

    def write_document(self, document: StudyDocument) -> None:
        """Write the results."""
        write_json(self.path / DOCUMENT_FILE, document.model_dump(mode="json"))

    def _done(self) -> int:
        cells = [self.cell(name) for name in self.manifest().cells]
        return sum(cell is not None and cell.result is not None for cell in cells)
