"""One input: place it in a folder of its own, read it, and check what happened."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from greffe.errors import GreffeError
from tools.fuzz.targets import Action, Target

NOT_JSON = ("NaN", "Infinity", "-Infinity")


@dataclass(frozen=True)
class Problem:
    """A violated promise; equal `where` means most likely the same cause."""

    kind: str
    """crash, message, not a number, changed files, memory, time, died."""
    where: str
    detail: str = ""


@dataclass(frozen=True)
class Outcome:
    """How an action ended."""

    code: int
    out: str
    err: str
    error: BaseException | None = None


def execute(
    target: Target, data: bytes, world: Path, which: int | None = None
) -> tuple[Outcome, Problem | None]:
    """Read an input with `which` of the actions, by default one that depends on the input."""
    with tempfile.TemporaryDirectory(prefix="fuzz", dir=world.parent) as name:
        folder = Path(name)
        for part in target.parts:
            _copy(world / part, folder / part)
        target.place(folder, data)
        actions = target.actions(data)
        action = actions[crc32(data) % len(actions) if which is None else which]
        before = _file_hashes(folder)
        outcome = _run(action, folder)
        after = _file_hashes(folder)
        written = [folder / name for name, digest in after.items() if before.get(name) != digest]
        problem = (
            _unexpected_exception(outcome)
            or _missing_message(outcome)
            or _not_a_number(outcome, written)
            or _changed_files(before, after, target.written)
        )
        return outcome, problem


def _copy(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, destination)
    else:
        shutil.copy2(source, destination)


def _run(action: Action, folder: Path) -> Outcome:
    """Run the action in the folder, with streams of its own."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    code, error = 0, None
    with _inside(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            action()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 0
        except GreffeError as known:
            code = known.exit_code
            print(f"error: {known}", file=err)
        except BaseException as unknown:  # Rust's panics are not derived from Exception
            code, error = 1, unknown
    return Outcome(code, _text_of(out), _text_of(err), error)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before, stdin = Path.cwd(), sys.stdin
    os.chdir(folder)
    sys.stdin = io.TextIOWrapper(io.BytesIO(b""), "utf-8")
    try:
        yield
    finally:
        os.chdir(before)
        sys.stdin = stdin


def _text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace")


# --- the checks ---------------------------------------------------------------------------------


def _unexpected_exception(outcome: Outcome) -> Problem | None:
    error = outcome.error
    if isinstance(error, MemoryError) or "Out of memory" in outcome.err:
        return Problem("memory", _last_place(error), outcome.err[-400:])
    if error is not None:
        shown = "".join(traceback.format_exception(error))
        return Problem("crash", f"{type(error).__name__} in {_last_place(error)}", shown[-3000:])
    if "Traceback (most recent call last)" in outcome.err:
        return Problem("crash", "a traceback on standard error", outcome.err[-3000:])
    return None


def _last_place(error: BaseException | None) -> str:
    """Return the innermost function of greffe's own code."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    own = [frame for frame in frames if "greffe" in Path(frame.filename).parts]
    return f"{Path(own[-1].filename).name} {own[-1].name}" if own else "?"


def _missing_message(outcome: Outcome) -> Problem | None:
    """An exit code other than 0 needs a message; results on standard output are one too."""
    has_message = "rror: " in outcome.err or "Usage: " in outcome.err or outcome.out.strip()
    if outcome.code != 0 and not has_message:
        return Problem("message", "no message", f"exit code {outcome.code}: {outcome.err[-400:]}")
    return None


def _not_a_number(outcome: Outcome, written: Sequence[Path]) -> Problem | None:
    """Neither printed nor written JSON holds NaN or Infinity."""
    is_json = outcome.code == 0 and outcome.out.lstrip().startswith(("{", "["))
    contents = [("standard output", outcome.out)] if is_json else []
    contents += [
        (path.name, path.read_text("utf-8", "replace"))
        for path in written
        if path.suffix in (".json", ".jsonl")
    ]
    for where, text in ((where, text) for where, all_ in contents for text in _json_texts(all_)):
        found: list[str] = []
        with contextlib.suppress(ValueError):
            json.loads(text, parse_constant=found.append)
        if found:
            return Problem("not a number", f"{found[0]} in {where}", text[:400])
    return None


def _json_texts(text: str) -> Sequence[str]:
    """Return the texts that may be JSON: the whole, or its lines."""
    if not any(name in text for name in NOT_JSON):
        return []
    try:
        json.loads(text)
    except ValueError:
        return text.splitlines()
    return [text]


def _file_hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def _changed_files(
    before: dict[str, str], after: dict[str, str], written: tuple[str, ...]
) -> Problem | None:
    """Files that were there before are unchanged, unless the command is asked to write there."""
    changed = [
        name
        for name, digest in before.items()
        if after.get(name) != digest and not name.startswith(written)
    ]
    if changed:
        return Problem("changed files", changed[0], ", ".join(changed[:10]))
    return None
