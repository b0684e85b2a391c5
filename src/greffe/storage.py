"""Atomic file writes, and reads whose errors name the file."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from greffe.errors import CorruptError, DiskFullError, RunError
from greffe.parsing import ParseError, format_json, parse_json

LARGEST_FILE = 1 << 28
"""Bytes: no JSON file that greffe writes comes near it, so a larger one is not ours."""

Model = TypeVar("Model", bound=BaseModel)

_TEMPORARY = re.compile(r"\..+\.([1-9][0-9]{0,9})\.tmp")
"""What `temporary_path` returns; the number is the process that writes."""


# --- writing ------------------------------------------------------------------------------------


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` atomically: a crash leaves either the old content or the new one."""
    with atomic_file(path) as file:
        file.write(data)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file atomically, into a folder that is made if it is not there."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        content = source.read_bytes()
    except OSError as error:
        raise disk_error(error, target) from error
    write_atomic(target, content)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` at the end, if there was no error."""
    temporary = temporary_path(path)
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise disk_error(error, path) from error
    finally:  # after an interruption too
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def temporary_path(path: Path) -> Path:
    """Return the name that a file or folder has while this process writes it."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def sync_folder(folder: Path) -> None:
    """Write a folder's names to disk, so that a power loss does not undo a finished renaming."""
    with suppress(OSError):  # not every file system can; the renaming itself is done
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_leftovers(folder: Path, *, below: bool = False) -> None:
    """Remove what killed processes were writing in a folder, and in the folders below it if asked.

    What another living process is writing stays. Links to folders are not followed.
    """
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            match = _TEMPORARY.fullmatch(name)
            if match is None or _is_another_living(int(match[1])):
                continue
            if name in folders:
                folders.remove(name)
                shutil.rmtree(Path(parent, name), ignore_errors=True)
            else:
                with suppress(OSError):
                    Path(parent, name).unlink()
        if not below:
            return


def _is_another_living(process: int) -> bool:
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)  # sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        pass
    return True


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON atomically."""
    write_atomic(path, encode_json(format_json(value, indent=2) + "\n"))


def encode_json(text: str) -> bytes:
    """Return JSON text as bytes."""
    # Python represents file names that are not UTF-8 with lone surrogates; JSON can escape these.
    return text.encode("utf-8", "backslashreplace")


# --- reading ------------------------------------------------------------------------------------


def read_file(path: Path, what: str, *, largest: int = LARGEST_FILE) -> bytes:
    """Return a file's content; `what` names it in the CorruptError if it cannot be read.

    Only regular files of at most `largest` bytes are read: a pipe would block, a device never end.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise CorruptError(f"{path} is not a file.", expected=what, found="something else")
        if status.st_size > largest:
            raise CorruptError(
                f"{path} is too large.",
                expected=f"{what}, at most {largest:,} bytes",
                found=f"{status.st_size:,} bytes",
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise CorruptError(f"{path} is missing.", expected=what, found="no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CorruptError(f"{path} cannot be read.", expected=what, found=str(error)) from None


def read_json(path: Path, what: str) -> Any:
    """Return parsed JSON; `what` names the expected content in the CorruptError otherwise."""
    try:
        return parse_json(read_file(path, what))
    except ParseError as error:
        raise CorruptError(
            f"{path} is damaged.", expected=what, found=f"invalid JSON: {error}"
        ) from None


def read_model(kind: type[Model], path: Path, what: str, hint: str | None = None) -> Model:
    """Return the content of a JSON file as a pydantic model; `what` as in `read_json`."""
    try:
        return kind.model_validate(read_json(path, what))
    except ValidationError as error:
        raise CorruptError(
            f"{path} is damaged or from another version.",
            expected=what,
            found=first_problem(error),
            hint=hint,
        ) from None


def first_problem(error: ValidationError) -> str:
    """Return where the first problem is and what it is, in one line."""
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    problem = first["msg"].removeprefix("Value error, ")
    return f"{where}: {problem}" if where else problem


def check_writable(folder: Path) -> None:
    """Raise an error unless a folder can be written to, or created; change nothing."""
    try:
        there = _nearest(folder)
        is_folder, is_writable = there.is_dir(), os.access(there, os.W_OK | os.X_OK)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise unusable(folder, "used", error) from None
    if folder.is_symlink() and not folder.exists():
        raise unusable(folder, "used", "a link that leads to no folder")
    if not is_folder or not is_writable:
        reason = "no permission to write to" if is_folder else "not a folder:"
        raise unusable(
            folder, "written" if there == _real(folder) else "created", f"{reason} {there}"
        )


def check_space(folder: Path, needed: int) -> None:
    """Raise an error if the disk of a folder, which may not exist yet, has fewer bytes left."""
    free = shutil.disk_usage(_nearest(folder)).free
    if free < needed:
        raise RunError(
            f"The disk is too full to write {folder}.",
            expected=f"at least {needed / 1e9:.2g} GB",
            found=f"{free / 1e9:.2g} GB left",
            hint="free some space, or choose an --out on another disk",
        )


def _nearest(folder: Path) -> Path:
    """Return the folder or, if it does not exist, the nearest one above it that does."""
    path = _real(folder)
    return next(each for each in (path, *path.parents) if each.exists())


def _real(path: Path) -> Path:
    # Path.resolve raises RuntimeError for links in a circle.
    return Path(os.path.realpath(path))


def unusable(folder: Path, how: str, error: Exception | str) -> RunError:
    """Return the error for a folder that cannot be created, written or used for output."""
    reason = error.strerror if isinstance(error, OSError) else None
    return RunError(
        f"{folder} cannot be {how}.",
        expected="a folder that may be written to",
        found=reason or str(error),
        hint="choose another --out",
    )


def disk_error(error: OSError, path: Path) -> RunError:
    """Turn a failed write into an error for the user."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"The disk is full: could not write {path}.",
            found=str(error),
            hint="existing files are unchanged; free some space, then repeat the command",
        )
    return RunError(
        f"Writing failed: could not write {path}.",
        found=str(error),
        hint="existing files are unchanged",
    )


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's content as a hex string."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CorruptError(f"{path} cannot be read.", expected="a file", found=str(error)) from None
