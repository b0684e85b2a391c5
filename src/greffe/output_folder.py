"""The folder that a command writes to: locked by one process; refused, emptied or resumed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from filelock import FileLock, Timeout

from greffe.errors import (
    DiskFullError,
    InterruptedRunError,
    RunBusyError,
    RunError,
    RunExistsError,
)
from greffe.storage import check_writable, remove_leftovers, unusable

LOCK_FILE = ".lock"
UNFINISHED_FILE = ".greffe"
"""Marks a folder as ours before anything else is in it; removed once there is a manifest."""
BEING_EMPTIED = b"being emptied"
"""Content of the mark while --overwrite removes the files; without content at all other times."""
CARD_FILE = "README.md"
CARD_MARK = "<!-- Written by greffe. -->"
"""First line of a model card; a README.md without it is the user's and is never touched."""
PARTS = "parts"
"""Folder for what `greffe fit` makes on the way."""
FOLDERS = (
    *("cells", "runs", "tables", "feature_runs", "soup", "restarts", "intermediate"),
    *("checkpoints", "corpus", "scan", "tensorboard", "tracking", PARTS),
)
WRITTEN = (
    *FOLDERS,
    *("study.json", "fit.json", "report.html", "report.md", "report.json"),
    *("run.json", "recipe.toml", "tokenizer.json", "weights.safetensors", "metrics.jsonl"),
    *("linear.json", "linear.safetensors", "corpus.json", "prepare.json", "*.tokens", "*.offsets"),
    *("export.json", "model.onnx", "linear.onnx", "terms.json"),
    *("config.json", "generation_config.json", "model.safetensors", "tokenizer_config.json"),
    *("special_tokens_map.json", "*_greffe.py"),
    *(CARD_FILE, ".*.tmp"),
)
"""Everything that greffe writes into an output folder, and so may remove from it."""
Resumes = Literal["with the flag", "by default", "never"]
"""When a command continues what is in its output folder: with --resume, or without --overwrite."""


class OutputFolder:
    """A folder for this process only, in three steps.

    Making the object refuses a folder that cannot be used, before any work. Entering it takes the
    lock. `begin` empties it with --overwrite: a command calls it after its last check, so that one
    that is refused leaves everything as it was.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        markers: Sequence[str] = ("run.json",),
        overwrite: bool = False,
        resume: bool = False,
        resumes: Resumes = "with the flag",
        is_main: bool = True,
        sources: Sequence[str | Path] = (),
    ) -> None:
        self.path = Path(path)
        self.sources = tuple(Path(source) for source in sources)
        self.overwrite = overwrite
        self.resumes: Resumes = resumes
        self.is_main = is_main
        self.markers = tuple(markers)
        self._created: list[Path] = []
        try:
            # Checked here and not on entry: no rank may see what another one has just written.
            self.is_ours = self._has(UNFINISHED_FILE, *markers) and bool(self._names())
            self.is_half_empty = self._is_half_empty()
            self.resuming = self.is_ours and resume and not self.is_half_empty
            self._check()
            self._check_access()
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise unusable(self.path, "used", error) from None

    def __enter__(self) -> Self:
        if self.is_main:
            self._check()  # again: others may have written in the meantime
            self._take_lock()
        return self

    def begin(self) -> None:
        """Mark the folder as ours and, unless it is resumed, remove what greffe wrote before."""
        if not self.is_main:
            return
        mark = self.path / UNFINISHED_FILE
        try:
            if self.is_ours and not self.resuming:
                # A process killed in between leaves neither a folder that looks finished nor one
                # that nobody owns: the next command goes on emptying it.
                mark.write_bytes(BEING_EMPTIED)
                self._empty()
            self._remove_leftovers()
            mark.write_bytes(b"")
        except OSError as error:
            raise unusable(self.path, "written", error) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.is_main:
            return
        advise(error, self.resumes, overwrite=self.overwrite)
        self._remove_leftovers()
        is_empty = not self._names()
        if is_empty or self._has(*self.markers):
            (self.path / UNFINISHED_FILE).unlink(missing_ok=True)
        self._release()
        if is_empty and kind is not None:
            self._remove_created()

    # --- refusing ---

    def _check(self) -> None:
        """Raise an error if the folder holds what this command may not touch; change nothing."""
        if self.path.exists() and not self.path.is_dir():
            raise RunExistsError(
                f"{self.path} is a file.", expected="a folder", hint="choose another --out"
            )
        names = self._names()
        if names and not self.is_ours:
            raise RunExistsError(
                f"{self.path} holds files that greffe did not write.",
                expected="a new or empty folder",
                found=", ".join(names[:5]),
                hint="choose another --out",
            )
        if self.is_ours and not self.resuming:
            self._check_overwrite()

    def _check_overwrite(self) -> None:
        """Raise an error unless --overwrite is or was given and removes nothing that is read."""
        if not self.overwrite and not self.is_half_empty:
            raise RunExistsError(
                f"{self.path} already holds a run.",
                expected="a new or empty folder",
                hint=f"{'--resume continues it, ' * (self.resumes == 'with the flag')}"
                "--overwrite replaces it, or choose another --out",
            )
        folder = self.path.resolve()
        for source in self.sources:
            if source.exists() and folder in (source.resolve(), *source.resolve().parents):
                raise RunExistsError(
                    f"--overwrite would remove {source}, which this command reads.",
                    expected="an --out that contains none of the inputs",
                    hint="choose another --out",
                )

    def _check_access(self) -> None:
        """Raise an error if the folder cannot be created or written, or is in use."""
        check_writable(self.path)
        # The file may be left by a killed process. One rank alone: another one would look like a
        # process that holds it.
        if self.is_main and (self.path / LOCK_FILE).is_file():
            self._acquire()
            self._lock.release()

    # --- the folder and its lock ---

    def _has(self, *names: str) -> bool:
        return any((self.path / name).exists() for name in names)

    def _is_half_empty(self) -> bool:
        """Whether a process was killed while it emptied the folder."""
        mark = self.path / UNFINISHED_FILE
        return mark.is_file() and mark.read_bytes() == BEING_EMPTIED

    def _names(self) -> list[str]:
        """Return the names in the folder, without the lock and the marker."""
        if not self.path.is_dir():
            return []
        names = {item.name for item in self.path.iterdir()}
        return sorted(names - {LOCK_FILE, UNFINISHED_FILE})

    def _remove_leftovers(self) -> None:
        """Remove what processes that were killed were writing, everywhere greffe writes."""
        remove_leftovers(self.path)
        for folder in (self.path / name for name in FOLDERS):
            if not folder.is_symlink():
                remove_leftovers(folder, below=True)

    def _release(self) -> None:
        # Removed while it is still held, so that nobody can take it in between. A process that has
        # opened it already gets a lock of no name, which filelock refuses.
        with suppress(OSError):
            (self.path / LOCK_FILE).unlink()
        self._lock.release()

    def _take_lock(self) -> None:
        self._created = [each for each in (self.path, *self.path.parents) if not each.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._remove_created()
            raise unusable(self.path, "created", error) from None
        try:
            self._acquire()
        except RunError:
            self._remove_created()
            raise

    def _acquire(self) -> None:
        self._lock = FileLock(self.path / LOCK_FILE)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunBusyError(
                f"{self.path} is in use by another process.",
                hint="wait for it to end, or choose another --out",
            ) from None
        except OSError as error:
            raise unusable(self.path, "written", error) from None

    def _remove_created(self) -> None:
        """Remove the folders that were made for this command, unless something is in them."""
        for folder in self._created:
            with suppress(OSError):
                folder.rmdir()

    def _empty(self) -> None:
        """Remove everything that greffe has written to the folder."""
        for item in self.path.iterdir():
            if not any(item.match(pattern) for pattern in WRITTEN) or is_users_card(item):
                continue
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item)
            else:
                item.unlink()


def advise(error: BaseException | None, resumes: Resumes, *, overwrite: bool) -> None:
    """Make the hint of an interruption or a full disk fit the command and its flags."""
    match resumes:
        case "with the flag":
            flags = f" with --resume{' instead of --overwrite' * overwrite}"
        case "by default":
            flags = " without --overwrite" * overwrite
        case "never":
            flags = "" if overwrite else " with --overwrite"
    if isinstance(error, DiskFullError):
        error.hint = f"free some space, then repeat the command{flags}"
    elif isinstance(error, InterruptedRunError):
        error.hint = f"to continue, repeat the command{flags}"


def is_users_card(path: Path) -> bool:
    """Whether this is a README.md that greffe did not write."""
    is_card = path.name == CARD_FILE and path.exists()
    return is_card and not path.read_bytes().startswith(CARD_MARK.encode())
