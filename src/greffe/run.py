"""Run: one directory on disk, with its layout, manifest, lineage and metrics. Knows no torch.

run.json              what it is, where it came from, how it ended
recipe.toml           every choice
tokenizer.json        the vocabulary its weights were made for
weights.safetensors   the weights it ended with
linear.json, linear.safetensors   a linear classifier, beside or without a base
feature_runs/0, 1, …      whole runs that it asks about each text
metrics.jsonl         one line a logged step or evaluation
checkpoints/          state for resuming: the last one, and the best weights
soup/1, 2, …       the same for further members, while their average is in the making
intermediate/               a run of its own: the base after the labels of others, before one's own
corpus/               shards, if a raw text was prepared on the way
"""

from __future__ import annotations

import difflib
import json
import math
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError

from greffe import __version__
from greffe.config.components import HeadSpec
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.spec import Spec
from greffe.errors import CorruptError, RunError
from greffe.progress import notice
from greffe.storage import disk_error, read_json, write_atomic, write_json

RUN_FILE = "run.json"
RECIPE_FILE = "recipe.toml"
TOKENIZER_FILE = "tokenizer.json"
WEIGHTS_FILE = "weights.safetensors"
METRICS_FILE = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
FEATURE_RUNS = "feature_runs"
SOUP = "soup"
INTERMEDIATE = "intermediate"


class Lineage(Spec):
    """Where a run came from: enough to repeat it, and to see that it is what it says."""

    command: list[str]
    created: str
    versions: dict[str, str]
    threads: int
    parent: str | None = None
    parent_weights: str | None = None
    vocabulary_transfer: bool = False
    """Whether the parent's weights were put into another vocabulary."""
    initial_base: str
    """Hash of the base before the first step; empty for TF-IDF alone, which has none."""
    initial_head: str | None = None
    """Hash of the heads as they were built or taken over, before the first step."""
    tokenizer: str
    """Fingerprint; empty for TF-IDF alone."""
    data: dict[str, str]


class Manifest(Spec):
    """The content of run.json."""

    format: Literal[1] = 1
    kind: Literal["language-model", "classifier", "linear"]
    status: Literal["training", "finished"]
    vocab: int
    heads: dict[str, HeadSpec]
    directions: list[Literal["causal", "bidirectional"]]
    labels: list[str] = Field(default_factory=list)
    direction: Literal["causal", "bidirectional"] | None = None
    lineage: Lineage
    weights: str | None = None
    feature_runs: list[str] = Field(default_factory=list)
    """Hash of each run in feature_runs/, in their order."""
    result: dict[str, Any] = Field(default_factory=dict)


def new_lineage(**fields: Any) -> Lineage:
    """Lineage of this moment, process and installation."""
    return Lineage(
        command=this_command(), created=this_moment(), versions=library_versions(), **fields
    )


def this_command() -> list[str]:
    """The words that began this process."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


def this_moment() -> str:
    """Date and time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def library_versions() -> dict[str, str]:
    """What the results of this process depend on."""
    return {
        "python": platform.python_version(),
        "greffe": __version__,
        **{name: metadata.version(name) for name in ("torch", "tokenizers", "numpy")},
    }


# --- bases that ship ----------------------------------------------------------------------------


def bases_folder() -> Path:
    """Where the package keeps its bases: read from, never written to."""
    return Path(str(resources.files("greffe") / "bases"))


def shipped_bases() -> list[str]:
    """Names of the bases that ship with the package: each is a run."""
    return sorted(file.parent.name for file in bases_folder().glob(f"*/{RUN_FILE}"))


def run_path(name_or_path: str | Path) -> Path:
    """Where a run is: what exists under this path, else the shipped base of this name."""
    path = Path(name_or_path)
    is_name = path.name == str(path) and not path.exists()
    return bases_folder() / path if is_name and path.name in shipped_bases() else path


def or_a_shipped_base() -> str:
    """`, or greffe-fr, part of the package`: ends a message about what may be given."""
    names = ", ".join(shipped_bases())
    return f", or {names}, part of the package" if names else ""


# --- runs ---------------------------------------------------------------------------------------


def open_run(run: str | Path | RunDirectory) -> RunDirectory:
    """A run by its path, its name or as it is."""
    return run if isinstance(run, RunDirectory) else RunDirectory.open(run)


def open_base(run: str | Path | RunDirectory) -> RunDirectory:
    """A run whose base is wanted, by its path, its name or as it is."""
    opened = open_run(run)
    opened.require_base()
    return opened


class RunDirectory:
    """A run on disk: reads and writes its small files. Weights are checkpoint.py's work."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The run at `path`, or the shipped base of this name; else an error: what is there?"""
        run = cls(run_path(path))
        if not run.path.exists():
            close = difflib.get_close_matches(str(path), shipped_bases(), n=1)
            raise RunError(
                f"There is no run at {path}.",
                expected="a folder that greffe pretrain, finetune, linear or ensemble wrote"
                f"{or_a_shipped_base()}",
                found="nothing",
                hint=f"did you mean {close[0]}?" if close else "check the spelling of the path",
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
        return f"{type(self).__name__}({self.name!r})"

    @property
    def is_shipped(self) -> bool:
        """Whether it is a part of the package, where nothing is ever written."""
        return self.path.resolve().parent == bases_folder().resolve()

    @property
    def name(self) -> str:
        """What it is called where it is shown or recorded: its path, or the name it ships under."""
        return self.path.resolve().name if self.is_shipped else str(self.path)

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

    def require_base(self) -> None:
        """An error unless the run has a base: a linear one need not have any."""
        if self.manifest().lineage.initial_base:
            return
        raise RunError(
            f"{self.name} has no base: it is a linear model alone.",
            expected="a run that greffe pretrain or finetune wrote",
            hint="greffe predict and greffe evaluate can use it",
        )

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
