from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from greffe.errors import CorruptError, RunError
from greffe.storage import (
    check_space,
    check_writable,
    disk_error,
    file_hash,
    read_json,
    read_model,
    remove_leftovers,
    sync_folder,
    temporary_path,
    write_atomic,
    write_json,
)


def test_write_atomic_replaces_and_leaves_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (Path, "replace")])
def test_a_failed_write_keeps_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, step: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*args: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(owner, step, fail)
    with pytest.raises(RunError, match="disk is full") as caught:
        write_atomic(path, b"new")
    assert "unchanged" in str(caught.value)
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_an_interrupted_write_leaves_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "file", b"new")
    assert not list(tmp_path.iterdir())


def test_the_folder_is_synced_after_the_renaming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[bool, bool]] = []
    path = tmp_path / "file"

    def sync(descriptor: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), path.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    write_atomic(path, b"new")
    assert synced == [(False, False), (True, True)]


def test_a_folder_that_cannot_be_synced_is_no_error(tmp_path: Path) -> None:
    sync_folder(tmp_path / "missing")


DEAD = 2**22 + 1
"""The number of no process: Linux has at most 2 ** 22."""


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    living = os.getppid()
    kept = [f".run.json.{living}.tmp", "run.json", ".notes.tmp", "a.1.tmp", ".x.007.tmp"]
    for name in (*kept, f".run.json.{DEAD}.tmp", f".run.json.{os.getpid()}.tmp"):
        (tmp_path / name).touch()
    for folder in (f".step-00000003.{DEAD}.tmp", "below"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f".state.json.{DEAD}.tmp").touch()
    remove_leftovers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*kept, "below"}
    assert list((tmp_path / "below").iterdir())
    remove_leftovers(tmp_path, below=True)
    assert not list((tmp_path / "below").iterdir())
    assert temporary_path(tmp_path / "run.json").name == f".run.json.{os.getpid()}.tmp"


def test_leftovers_behind_a_link_stay(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / f".x.{DEAD}.tmp").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "other")
    remove_leftovers(tmp_path / "folder", below=True)
    assert list((tmp_path / "other").iterdir())


def test_a_failed_write_reports_its_cause(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="Writing failed") as caught:
        write_atomic(tmp_path / "missing" / "file", b"x")
    assert "No such file" in str(caught.value)
    assert "disk is full" in str(disk_error(OSError(errno.EDQUOT, "quota"), tmp_path))


def test_json_is_read_as_written_and_damage_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    write_json(path, {"é": [1, 2.5, None]})
    assert read_json(path, "a value") == {"é": [1, 2.5, None]}
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(CorruptError, match="damaged") as caught:
        read_json(path, "a value")
    assert caught.value.expected == "a value"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CorruptError, match="damaged"):
        read_json(path, "a value")
    with pytest.raises(CorruptError, match="missing"):
        read_json(tmp_path / "none.json", "a value")


def test_a_file_of_another_version_is_named(tmp_path: Path) -> None:
    class Settings(BaseModel):
        format: Literal[1]

    path = tmp_path / "value.json"
    write_json(path, {"format": 1})
    assert read_model(Settings, path, "settings") == Settings(format=1)
    write_json(path, {"format": 2})
    with pytest.raises(CorruptError, match="another version") as caught:
        read_model(Settings, path, "settings", hint="start again")
    assert (caught.value.expected, caught.value.hint) == ("settings", "start again")
    assert caught.value.found == "format: Input should be 1"


def test_a_folder_that_cannot_be_written_is_known_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_writable(tmp_path)
    check_writable(tmp_path / "a" / "b")
    (tmp_path / "file").write_text("")
    for path, how in (("file", "written"), ("file/below", "created"), ("nul\0", "used")):
        with pytest.raises(RunError, match=f"cannot be {how}"):
            check_writable(tmp_path / path)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(RunError, match="cannot be created") as caught:
        check_writable(tmp_path / "a" / "b")
    assert f"permission to write to {tmp_path}" in str(caught.value.found)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_disk_that_is_too_full_is_known_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=2_000_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: {tmp_path: usage}[path])
    check_space(tmp_path / "new" / "run", 2_000_000_000)
    with pytest.raises(RunError, match="too full") as caught:
        check_space(tmp_path / "new" / "run", 3_500_000_000)
    assert (caught.value.expected, caught.value.found) == ("at least 3.5 GB", "2 GB left")


def test_file_hash_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    assert file_hash(tmp_path / "file").startswith("ba7816bf")


def test_lone_surrogates_of_file_names_are_escaped(tmp_path: Path) -> None:
    write_json(tmp_path / "value.json", {"name": "caf\udce9.txt"})
    assert read_json(tmp_path / "value.json", "a value") == {"name": "caf\udce9.txt"}


def test_the_hash_of_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(CorruptError, match="cannot be read"):
            file_hash(path)
