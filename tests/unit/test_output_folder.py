"""Output folders: refused, emptied or resumed; locked by one process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import greffe
from greffe.errors import (
    DiskFullError,
    InterruptedRunError,
    RunBusyError,
    RunError,
    RunExistsError,
)
from greffe.output_folder import LOCK_FILE, UNFINISHED_FILE, OutputFolder
from greffe.run import RECIPE_FILE, RUN_FILE

SOURCE = Path(greffe.__file__).parents[1]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run."""
    path = tmp_path / "run"
    path.mkdir()
    for name in (RUN_FILE, RECIPE_FILE):
        (path / name).write_text("{}")
    return path


def test_a_new_folder_is_created_with_its_parents(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "a" / "b") as folder:
        folder.begin()
        assert not folder.resuming
        assert (folder.path / LOCK_FILE).exists()
        (folder.path / RUN_FILE).write_text("{}")
    assert not folder._lock.is_locked
    assert [item.name for item in folder.path.iterdir()] == [RUN_FILE]


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    with OutputFolder(tmp_path) as folder:
        assert not folder.is_ours


@pytest.mark.parametrize("flags", [{}, {"overwrite": True}, {"resume": True}])
def test_a_folder_with_other_files_is_never_changed(tmp_path: Path, flags: dict[str, Any]) -> None:
    (tmp_path / "thesis.docx").write_text("years of work")
    with (
        pytest.raises(RunExistsError, match="did not write") as caught,
        OutputFolder(tmp_path, **flags),
    ):
        pass
    assert caught.value.found == "thesis.docx"
    assert (tmp_path / "thesis.docx").read_text() == "years of work"
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.docx"]


def test_a_run_is_refused_without_a_flag(run: Path) -> None:
    before = sorted(run.iterdir())
    with pytest.raises(RunExistsError, match="already holds a run") as caught:
        OutputFolder(run).__enter__()
    assert "--resume" in str(caught.value) and "--overwrite" in str(caught.value)
    assert sorted(run.iterdir()) == before


def test_overwrite_empties_the_folder_but_follows_no_link(run: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("1")
    (run / "corpus").symlink_to(outside)
    (run / "checkpoints" / "step-1").mkdir(parents=True)
    (run / "notes.txt").write_text("mine")
    with OutputFolder(run, overwrite=True) as folder:
        assert not folder.resuming
        folder.begin()
        found = {item.name for item in run.iterdir()}
        assert found == {LOCK_FILE, UNFINISHED_FILE, "notes.txt"}
    assert (outside / "precious").read_text() == "1"


def test_overwrite_never_removes_what_the_command_reads(run: Path, tmp_path: Path) -> None:
    before = sorted(run.iterdir())
    for source in (run, run / "run.json"):
        with (
            pytest.raises(RunExistsError, match="would remove"),
            OutputFolder(run, overwrite=True, sources=[source]),
        ):
            raise AssertionError("never entered")
    assert sorted(run.iterdir()) == before
    with OutputFolder(run, overwrite=True, sources=[tmp_path / "elsewhere"]):
        pass


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def half_emptied(run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose replacement was killed after the first file was removed."""
    (run / "weights.safetensors").write_text("weights")
    (run / "thesis.docx").write_text("years of work")
    removed: list[Path] = []
    unlink = Path.unlink

    def unlink_one(path: Path, missing_ok: bool = False) -> None:
        if removed:
            raise Killed
        removed.append(path)
        unlink(path, missing_ok)

    folder = OutputFolder(run, overwrite=True)
    with monkeypatch.context() as patch:
        folder.__enter__()
        patch.setattr(Path, "unlink", unlink_one)
        with pytest.raises(Killed):
            folder.begin()
    folder._lock.release()
    return run


@pytest.mark.parametrize("flags", [{}, {"overwrite": True}, {"resume": True}])
def test_a_folder_that_was_being_emptied_is_emptied(
    half_emptied: Path, flags: dict[str, Any]
) -> None:
    """What is left is neither a run to resume, nor lost to everybody."""
    with OutputFolder(half_emptied, **flags) as folder:
        assert not folder.resuming
        folder.begin()
        names = {item.name for item in half_emptied.iterdir()}
        assert names == {LOCK_FILE, UNFINISHED_FILE, "thesis.docx"}
        (half_emptied / RECIPE_FILE).write_text("{}")
    assert OutputFolder(half_emptied, resume=True).resuming


def test_what_is_read_is_not_removed_from_a_folder_that_was_being_emptied(
    half_emptied: Path,
) -> None:
    source = half_emptied / "thesis.docx"
    with pytest.raises(RunExistsError, match="reads"):
        OutputFolder(half_emptied, resume=True, sources=[source])


def test_resume_keeps_everything(run: Path) -> None:
    before = sorted(item.name for item in run.iterdir())
    with OutputFolder(run, resume=True) as folder:
        assert folder.resuming
        folder.begin()
    assert sorted(item.name for item in run.iterdir()) == before


def test_nothing_is_removed_before_the_work_begins(run: Path) -> None:
    before = {path: path.read_bytes() for path in run.iterdir()}
    with pytest.raises(ZeroDivisionError), OutputFolder(run, overwrite=True):
        raise ZeroDivisionError
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_resume_without_a_run_starts_one(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "new", resume=True) as folder:
        assert not folder.resuming


def test_any_marker_identifies_a_folder_of_greffe(tmp_path: Path) -> None:
    (tmp_path / RECIPE_FILE).write_text("")
    with OutputFolder(tmp_path, markers=(RUN_FILE, RECIPE_FILE), resume=True) as folder:
        assert folder.resuming


def test_a_file_instead_of_a_folder_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("text")
    with pytest.raises(RunExistsError, match="is a file"), OutputFolder(path, overwrite=True):
        pass
    assert path.read_text() == "text"


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(RunError, match="cannot be created"),
        OutputFolder(tmp_path / "file" / "below"),
    ):
        pass


def test_a_folder_that_cannot_be_locked_is_an_error(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).mkdir()
    with pytest.raises(RunError, match="cannot be written"), OutputFolder(tmp_path):
        pass


@pytest.mark.parametrize("name", ["nul\0name", "long" * 100])
def test_a_path_that_cannot_be_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunError, match="cannot be used"):
        OutputFolder(tmp_path / name)


@pytest.mark.parametrize("target", ["link", "nowhere"])
def test_a_link_that_leads_to_no_folder_is_an_error(tmp_path: Path, target: str) -> None:
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(RunError, match="cannot be used"):
        OutputFolder(tmp_path / "link")
    with pytest.raises(RunError, match="cannot be"), OutputFolder(tmp_path / "link" / "run"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_every_refusal_comes_before_entry_and_changes_nothing(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.docx").write_text("years of work")
    before = sorted(tmp_path.rglob("*"))
    for path, flags in (
        (run, {}),
        (run, {"overwrite": True, "sources": [run / RUN_FILE]}),
        (tmp_path / "file", {"resume": True}),
        (tmp_path / "file" / "below", {}),
        (tmp_path / "mine", {"overwrite": True}),
    ):
        with pytest.raises(RunError):
            OutputFolder(path, **flags)  # type: ignore[arg-type]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_without_permission_is_refused_before_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(RunError, match="cannot be created") as caught:
        OutputFolder(tmp_path / "a" / "b")
    assert "permission" in str(caught.value.found)
    assert not list(tmp_path.iterdir())


def test_an_error_leaves_none_of_the_new_folders_and_every_old_one(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for path in (old, old / "a" / "b"):
        with pytest.raises(ZeroDivisionError), OutputFolder(path):
            raise ZeroDivisionError
    assert list(tmp_path.rglob("*")) == [old]


@contextlib.contextmanager
def holding(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the folder until its input is closed."""
    code = (
        "import sys\nfrom greffe.output_folder import OutputFolder\n"
        "with OutputFolder(sys.argv[1], resume=True) as folder:\n"
        "    folder.begin()\n"
        "    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process


def test_a_folder_in_use_is_busy_until_its_process_ends(run: Path) -> None:
    before = (run / RUN_FILE).read_bytes()
    with holding(run):
        for resume in (True, False):
            with (
                pytest.raises(RunBusyError, match="in use"),
            ):
                OutputFolder(run, resume=resume, overwrite=not resume)
        assert (run / RUN_FILE).read_bytes() == before
    with OutputFolder(run, resume=True) as folder:
        assert folder.resuming


def test_a_killed_process_does_not_block_the_folder(tmp_path: Path) -> None:
    with holding(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (tmp_path / LOCK_FILE).exists()
        with OutputFolder(tmp_path):
            pass
    assert not list(tmp_path.iterdir())


def test_a_lock_file_that_was_removed_before_it_was_locked_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process ends between the opening of its lock file and the locking."""
    flock = fcntl.flock

    def flock_removed(file: int, operation: int) -> None:
        (tmp_path / LOCK_FILE).unlink(missing_ok=True)
        flock(file, operation)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", flock_removed)
        with pytest.raises(RunBusyError):
            OutputFolder(tmp_path).__enter__()
    with OutputFolder(tmp_path), pytest.raises(RunBusyError):
        OutputFolder(tmp_path)


def test_releasing_does_not_remove_the_lock_of_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process takes the folder as soon as the lock file is removed."""
    following = OutputFolder(tmp_path)
    with OutputFolder(tmp_path) as folder:
        release = folder._lock.release

        def release_late() -> None:
            following.__enter__()
            release()

        monkeypatch.setattr(folder._lock, "release", release_late)
    with pytest.raises(RunBusyError):
        OutputFolder(tmp_path)
    following.__exit__(None, None, None)


def test_the_lock_is_released_after_an_error_and_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), OutputFolder(path) as folder:
            folder.begin()
            raise ZeroDivisionError
        assert not path.exists()


def test_other_ranks_write_nothing(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "out", is_main=False) as folder:
        folder.begin()
        assert not folder.path.exists()


DEAD = 2**22 + 1
"""The number of no process: Linux has at most 2 ** 22."""


def leftovers(run: Path) -> list[Path]:
    """Write what killed processes leave in a run's folders; return the files that may go."""
    names = ["", "checkpoints/step-00000003", "soup/1/checkpoints", "corpus", "mine"]
    paths = [run / name / f".file.{DEAD}.tmp" for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return paths[:-1]


def test_leftovers_of_killed_processes_are_removed(run: Path) -> None:
    stale = leftovers(run)
    with OutputFolder(run, resume=True) as folder:
        assert all(path.exists() for path in stale)  # the command may still be refused
        folder.begin()
        assert not any(path.exists() for path in stale)
        leftovers(run)
    assert not any(path.exists() for path in stale)
    assert list((run / "mine").iterdir())  # a folder that greffe does not write


@pytest.mark.parametrize(
    ("choices", "hint"),
    [
        ({}, "repeat the command with --resume"),
        ({"overwrite": True}, "repeat the command with --resume instead of --overwrite"),
        ({"resume": True}, "repeat the command with --resume"),
        ({"resumes": "never"}, "repeat the command with --overwrite"),
        ({"resumes": "never", "overwrite": True}, "repeat the command"),
        ({"resumes": "by default", "resume": True}, "repeat the command"),
        ({"resumes": "by default", "overwrite": True}, "repeat the command without --overwrite"),
    ],
)
@pytest.mark.parametrize("kind", [DiskFullError, InterruptedRunError])
def test_how_to_continue_fits_the_command(
    tmp_path: Path, kind: type[RunError], choices: dict[str, Any], hint: str
) -> None:
    with pytest.raises(kind) as caught, OutputFolder(tmp_path / "out", **choices) as folder:
        folder.begin()
        raise kind("stop", hint="--resume")
    assert caught.value.hint is not None and caught.value.hint.endswith(f" {hint}")


def test_a_command_without_resume_does_not_recommend_it(run: Path) -> None:
    with pytest.raises(RunExistsError) as caught:
        OutputFolder(run, resumes="never")
    assert "--resume" not in str(caught.value) and "--overwrite" in str(caught.value)
