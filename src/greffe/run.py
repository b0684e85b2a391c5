"""Run: one directory on disk, with its layout, manifest, lineage and metrics. Knows no torch.

run.json              what it is, where it came from, how it ended
recipe.toml           every choice
tokenizer.json        the vocabulary its weights were made for
weights.safetensors   the weights it ended with
metrics.jsonl         one line a logged step or evaluation
checkpoints/          state for resuming: the last one, and the best weights
corpus/               shards, if a raw text was prepared on the way
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from filelock import FileLock, Timeout
from pydantic import Field, ValidationError

from greffe import __version__
from greffe.config import HeadSpec, Recipe, Spec
from greffe.errors import CorruptError, RunBusyError, RunError, RunExistsError
from greffe.progress import notice
from greffe.recipe_files import load_recipe

RUN_FILE = "run.json"
RECIPE_FILE = "recipe.toml"
TOKENIZER_FILE = "tokenizer.json"
WEIGHTS_FILE = "weights.safetensors"
METRICS_FILE = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
LOCK_FILE = ".lock"


# --- atomic files -------------------------------------------------------------------------------


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
    write_atomic(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


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


# --- output folders -----------------------------------------------------------------------------


class OutputFolder:
    """A folder that this process alone may write: created, refused, emptied or resumed on entry."""

    def __init__(
        self,
        path: str | Path,
        *,
        markers: Sequence[str] = (RUN_FILE,),
        overwrite: bool = False,
        resume: bool = False,
        is_main: bool = True,
    ) -> None:
        self.path = Path(path)
        self.overwrite = overwrite
        self.resume = resume
        self.is_main = is_main
        # Looked up here and not on entry: no rank may see what another one has just written.
        self.is_ours = any((self.path / marker).exists() for marker in markers)
        self.resuming = self.is_ours and resume

    def __enter__(self) -> Self:
        if self.is_main:
            self._prepare()
        return self

    def _prepare(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise RunExistsError(
                f"{self.path} is a file.", expected="a folder", hint="choose another --out"
            )
        is_empty = not self.path.exists() or not any(
            item.name != LOCK_FILE for item in self.path.iterdir()
        )
        if not is_empty and not self.is_ours:
            raise RunExistsError(
                f"{self.path} holds files that greffe did not write.",
                expected="a new or empty folder",
                found=", ".join(sorted(item.name for item in self.path.iterdir())[:5]),
                hint="choose another --out",
            )
        if self.is_ours and not (self.overwrite or self.resume):
            raise RunExistsError(
                f"{self.path} already holds a run.",
                expected="a new or empty folder",
                hint="--resume goes on with it, --overwrite starts anew, or choose another --out",
            )
        self._take_lock()
        if self.is_ours and not self.resuming:
            self._empty()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.is_main:
            return
        # Removed while it is still held: nobody can take it in between and lose it again.
        with suppress(OSError):
            (self.path / LOCK_FILE).unlink()
        self._lock.release()
        if kind is not None and self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    def _take_lock(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{self.path} cannot be created.", found=str(error)) from None
        self._lock = FileLock(self.path / LOCK_FILE)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunBusyError(
                f"{self.path} is in use by another process.",
                hint="wait for it to end, or choose another --out",
            ) from None
        except OSError as error:
            raise RunError(f"{self.path} cannot be written.", found=str(error)) from None

    def _empty(self) -> None:
        for item in self.path.iterdir():
            if item.name == LOCK_FILE:
                continue
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item)
            else:
                item.unlink()


# --- the manifest -------------------------------------------------------------------------------


class Lineage(Spec):
    """Where a run came from: enough to repeat it, and to see that it is what it says."""

    command: list[str]
    created: str
    versions: dict[str, str]
    threads: int
    parent: str | None = None
    parent_weights: str | None = None
    initial_base: str
    tokenizer: str
    data: dict[str, str]


class Manifest(Spec):
    """The content of run.json."""

    format: Literal[1] = 1
    kind: Literal["language-model", "classifier"]
    status: Literal["training", "finished"]
    vocab: int
    heads: dict[str, HeadSpec]
    directions: list[Literal["causal", "bidirectional"]]
    labels: list[str] = Field(default_factory=list)
    direction: Literal["causal", "bidirectional"] | None = None
    lineage: Lineage
    weights: str | None = None
    result: dict[str, Any] = Field(default_factory=dict)


def new_lineage(**fields: Any) -> Lineage:
    """Lineage of this moment, process and installation."""
    return Lineage(
        command=[Path(sys.argv[0]).name, *sys.argv[1:]],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={
            "python": platform.python_version(),
            "greffe": __version__,
            **{name: metadata.version(name) for name in ("torch", "tokenizers", "numpy")},
        },
        **fields,
    )


class RunDirectory:
    """A run on disk: reads and writes its small files. Weights are checkpoint.py's work."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The run at `path`, or an error that says what is there instead."""
        run = cls(path)
        if not run.path.exists():
            raise RunError(
                f"There is no run at {path}.",
                expected="a folder written by greffe",
                found="nothing",
            )
        if not (run.path / RUN_FILE).exists():
            corpus = (run.path / "corpus.json").exists()
            raise RunError(
                f"{path} is not a run.",
                expected=f"a folder with {RUN_FILE}",
                found="a prepared corpus" if corpus else "a folder or file without it",
                hint="greffe pretrain makes a run from a corpus" if corpus else None,
            )
        run.manifest()
        return run

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @property
    def weights_path(self) -> Path:
        """Where the finished weights are."""
        return self.path / WEIGHTS_FILE

    @property
    def checkpoints_path(self) -> Path:
        """Where the state for resuming is."""
        return self.path / CHECKPOINTS

    @property
    def tokenizer_path(self) -> Path:
        """Where the tokenizer is."""
        return self.path / TOKENIZER_FILE

    def recipe(self) -> Recipe:
        """The recipe as it was used."""
        path = self.path / RECIPE_FILE
        if not path.exists():
            raise CorruptError(f"{path} is missing.", expected="the run's recipe")
        return load_recipe(path)

    def write_recipe(self, recipe: Recipe) -> None:
        """Keep every choice of the run."""
        write_atomic(self.path / RECIPE_FILE, recipe.to_toml().encode())

    def manifest(self) -> Manifest:
        """What the run is."""
        path = self.path / RUN_FILE
        try:
            return Manifest.model_validate(read_json(path, "the run's manifest"))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise CorruptError(
                f"{path} is damaged or from another version.",
                expected="a manifest of format 1",
                found=f"{'.'.join(map(str, first['loc']))}: {first['msg']}",
            ) from None

    def write_manifest(self, manifest: Manifest) -> None:
        """Say what the run is; its presence makes the folder a run."""
        write_json(self.path / RUN_FILE, manifest.model_dump(mode="json"))

    def log(self, **fields: Any) -> None:
        """Add one line to metrics.jsonl; JSON has no NaN: what is not finite becomes null."""
        plain = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in fields.items()
        }
        try:
            with (self.path / METRICS_FILE).open("a", encoding="utf-8") as file:
                file.write(json.dumps(plain, ensure_ascii=False) + "\n")
        except OSError as error:
            raise disk_error(error, self.path / METRICS_FILE) from error

    def metrics(self) -> Iterator[dict[str, Any]]:
        """The lines of metrics.jsonl; a last line cut off by a crash is left out."""
        path = self.path / METRICS_FILE
        if not path.exists():
            return
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    fields = json.loads(line)
                except ValueError as error:
                    raise CorruptError(
                        f"{path} is damaged at line {number}.",
                        expected="one JSON object a line",
                        found=str(error),
                    ) from None
                yield fields

    def rewind_metrics(self, step: int) -> None:
        """Forget lines after `step`: a resumed run writes them again."""
        kept = [line for line in self.metrics() if line["step"] <= step]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept)
        write_atomic(self.path / METRICS_FILE, text.encode())

    def say_where(self) -> None:
        """Tell the user where the result is."""
        notice(f"run written to {self.path}")
