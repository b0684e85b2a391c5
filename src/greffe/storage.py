"""Files written whole or not at all, and read with an error that names them. Knows no contents."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from greffe.errors import CorruptError, RunError


def write_atomic(path: Path, data: bytes) -> None:
    """Write so that the path holds either the old content or all of the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise disk_error(error, path) from error


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically, readable by people."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    # File names that are not UTF-8 reach us as lone surrogates, which JSON can escape.
    write_atomic(path, text.encode("utf-8", "backslashreplace"))


def read_json(path: Path, what: str) -> Any:
    """Parsed JSON, or a CorruptError that names the file and what it should have been."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CorruptError(f"{path} is missing.", expected=what, found="no such file") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CorruptError(
            f"{path} is damaged.", expected=what, found=f"not readable as JSON: {error}"
        ) from None


def disk_error(error: OSError, path: Path) -> RunError:
    """What a failed write means for the user."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return RunError(
        f"{'The disk is full' if full else 'Writing failed'}: {path} was not written.",
        found=str(error),
        hint="what was on disk before is unchanged; free some space, then go on with --resume"
        if full
        else "what was on disk before is unchanged",
    )


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
