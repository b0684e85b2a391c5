"""Runs of an estimator: in a temporary folder, or opened where they are; pickled with their files.

Pickling is how scikit-learn passes an estimator to another process of the same user. greffe itself
never unpickles anything: `write_copy` saves a run for later.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from greffe.api.runs import Run
from greffe.baselines.linear_runs import prediction_files
from greffe.errors import CorruptError
from greffe.output_folder import OutputFolder
from greffe.pipelines.model_card import write_model_card
from greffe.run import METRICS_FILE, RUN_FILE, RunDirectory
from greffe.storage import disk_error, write_atomic

RUN_FOLDER = "run"


class TemporaryFolder:
    """A folder that is removed with this object, or at the end of the process that made it."""

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix="greffe-"))
        except OSError as error:
            raise disk_error(error, Path(tempfile.gettempdir())) from error
        self.remove = weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked process has a copy of the object, and not of the folder
        shutil.rmtree(folder, ignore_errors=True)


class CarriedRun(Run):
    """A run that is pickled with its files; the copy has a temporary folder of its own."""

    _folder: TemporaryFolder | None = None

    @classmethod
    def keep(cls, folder: TemporaryFolder) -> CarriedRun:
        """Open the run in a temporary folder, which lives as long as the run."""
        run = cls.open(folder.path / RUN_FOLDER)
        run._folder = folder
        return run

    def __getstate__(self) -> dict[str, Any]:
        """Return the content of the run's files."""
        files = {name.as_posix(): _read(self.path / name) for name in _files(self.path)}
        return {"files": files, "computing": self.computing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Write the files to a temporary folder."""
        self._folder = TemporaryFolder()
        self.path = self._folder.path / RUN_FOLDER
        self.computing = state["computing"]
        for name, content in state["files"].items():
            _write(self.path / name, content)


def write_copy(run: RunDirectory, path: str | Path, *, overwrite: bool) -> Run:
    """Copy a run to a folder of the user's; the manifest comes last and makes it a run."""
    with OutputFolder(path, overwrite=overwrite, resumes="never", sources=[run.path]) as folder:
        folder.begin()
        for name in _files(run.path):
            _write(folder.path / name, _read(run.path / name))
        write_model_card(RunDirectory(folder.path))
    return Run.open(folder.path)


def _files(folder: Path) -> list[Path]:
    """Return the files that a run predicts with and its log; the manifest is the last."""
    log = [Path(METRICS_FILE)] if (folder / METRICS_FILE).is_file() else []
    return sorted([*log, *prediction_files(folder)], key=lambda name: name == Path(RUN_FILE))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorruptError(
            f"{path} cannot be read.", expected="a file of a run", found=str(error)
        ) from None


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, path) from error
    write_atomic(path, content)
