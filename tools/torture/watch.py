"""Count the durable operations of this process below a folder; kill it or fail one of them.

A durable operation changes what is on disk: opening a file for writing, writing, fsync, renaming,
removing, making a folder. Between two of them the disk does not change, so a kill before each of
them leaves every state that a kill can leave, but for what the system has not yet written out.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Act = Literal["kill", "terminate", "interrupt", "full", "broken", "denied"]

SIGNALS = {
    "kill": signal.SIGKILL,
    "terminate": signal.SIGTERM,
    "interrupt": signal.SIGINT,
}
ERRORS = {"full": errno.ENOSPC, "broken": errno.EIO, "denied": errno.EACCES}
ALLOCATING = ("open", "write", "fsync", "rename", "mkdir")
"""The operations that can fail; a full disk does not keep anyone from removing files."""


@dataclass(frozen=True)
class Aim:
    """What happens before which durable operation, counted from 0."""

    act: Act
    point: int


class Watch:
    """The durable operations so far, as `operation path`, and what is to happen before one."""

    def __init__(self, folder: Path, aim: Aim | None) -> None:
        self.folder = str(folder)
        self.aim = aim
        self.operations: list[str] = []
        self.is_full = False

    def reach(self, operation: str, path: str) -> None:
        """Count an operation on an absolute path, and do what is to happen before it."""
        if self.is_aimed_at(operation, path):
            assert self.aim is not None
            self.act(self.aim.act, path)

    def is_aimed_at(self, operation: str, path: str) -> bool:
        """Count an operation; return whether something happens before it."""
        if path != self.folder and not path.startswith(f"{self.folder}/"):
            return False
        number = len(self.operations)
        self.operations.append(f"{operation} {os.path.relpath(path, self.folder)}")
        if self.is_full and operation in ALLOCATING:
            return True
        return self.aim is not None and self.aim.point == number

    def act(self, act: Act, path: str) -> None:
        """Send the signal to this process, or raise the error."""
        if act in SIGNALS:
            os.kill(os.getpid(), SIGNALS[act])
            return
        self.is_full = act == "full"
        number = ERRORS[act]
        raise OSError(number, os.strerror(number), path)


def install(folder: Path, aim: Aim | None) -> Watch:
    """Watch everything that this process does from now on; it cannot be undone."""
    watch = Watch(folder, aim)
    sys.addaudithook(_hook(watch))
    real_fsync, real_open = os.fsync, io.open

    def fsync(file: int) -> None:
        watch.reach("fsync", os.readlink(f"/proc/self/fd/{file}"))
        real_fsync(file)

    def watched_open(file: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        if not isinstance(file, int) and mode.strip("bt") in ("w", "a", "x"):
            return _open_watched(watch, file, mode, *args, **more)
        return real_open(file, mode, *args, **more)

    os.fsync = fsync  # type: ignore[assignment]
    io.open = builtins.open = watched_open
    return watch


def _hook(watch: Watch) -> Callable[[str, tuple[Any, ...]], None]:
    """Return an audit hook: Python calls it before each of these operations, whoever asks."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not isinstance(path, int):
                watch.reach("open", _absolute(path))
        elif event == "os.rename":
            watch.reach("rename", _absolute(arguments[1], arguments[3]))
        elif event in ("os.remove", "os.rmdir"):
            watch.reach(event.removeprefix("os."), _absolute(arguments[0], arguments[1]))
        elif event == "os.mkdir":
            watch.reach("mkdir", _absolute(arguments[0], arguments[2]))

    return hook


def _absolute(path: Any, folder: int = -1) -> str:
    """Return an absolute path; a relative one may be relative to an open folder."""
    name = os.fsdecode(path)
    return os.path.join(
        os.readlink(f"/proc/self/fd/{folder}") if folder >= 0 else os.getcwd(), name
    )


def _open_watched(
    watch: Watch,
    file: Any,
    mode: str,
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> Any:
    """Open a file as the built-in function does, with watched writes."""
    raw = _WatchedFile(watch, file, mode.strip("bt"))
    if buffering == 0:
        return raw
    buffered = io.BufferedWriter(raw)
    return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)


class _WatchedFile(io.FileIO):
    """A file of which half of the data is written before something happens to the rest."""

    def __init__(self, watch: Watch, file: Any, mode: str) -> None:
        super().__init__(file, mode)
        self._watch = watch
        self._path = _absolute(file)
        self._is_hit = False

    def write(self, data: Any) -> int:
        if self._is_hit or not self._watch.is_aimed_at("write", self._path):
            self._act_if_hit()
            return super().write(data)
        self._is_hit = True
        view = memoryview(data)
        # As on a disk that becomes full: the first call writes less, the next one fails.
        return super().write(view[: len(view) // 2]) or self._act_if_hit()

    def _act_if_hit(self) -> int:
        if self._is_hit:
            self._is_hit = False
            assert self._watch.aim is not None
            self._watch.act(self._watch.aim.act, self._path)
        return 0
