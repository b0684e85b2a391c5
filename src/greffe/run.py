"""Run: one directory on disk, with its layout, manifest, lineage and metrics. Knows no torch.

run.json              what the run is, where it came from, its results
README.md             the same as a model card
recipe.toml           every choice
tokenizer.json        the tokenizer that the weights were trained with
weights.safetensors   the final weights
linear.json, linear.safetensors   a linear classifier, with or without a base
feature_runs/0, 1, …  copies of runs whose class scores are features
metrics.jsonl         one line per logged step or evaluation
checkpoints/          state for resuming: the last checkpoint, and the best weights
soup/1, 2, …          the same for the other models of a soup, until the run is finished
restarts/1, 2         the same for a fine-tuning that collapsed and was started again
intermediate/         another run: the model after the auxiliary labels
corpus/               shards, if raw text was prepared by the command
tensorboard/          event files, with --track tensorboard
tracking/             the run's id in other trackers
"""

from __future__ import annotations

import difflib
import math
import os
import platform
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from greffe import __version__
from greffe.config.bounds import CalibrationTemperature, Fraction
from greffe.config.components import HeadSpec
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.recorded import Count, Figure, Moment
from greffe.config.spec import Spec
from greffe.errors import CorruptError, RunError
from greffe.parsing import ParseError, format_json, parse_json
from greffe.progress import notice
from greffe.storage import disk_error, encode_json, read_file, read_model, write_atomic, write_json

RUN_FILE = "run.json"
RECIPE_FILE = "recipe.toml"
TOKENIZER_FILE = "tokenizer.json"
WEIGHTS_FILE = "weights.safetensors"
METRICS_FILE = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
FEATURE_RUNS = "feature_runs"
SOUP = "soup"
RESTARTS = "restarts"
INTERMEDIATE = "intermediate"
LARGEST_VOCABULARY = 1_000_000  # as in recipes
NUMBERS = frozenset(
    (
        *("steps", "tokens", "seconds", "texts", "accuracy"),
        *("restarts", "restarted_lr", "collapsed"),
    )
)
"""Figures of a result that the code computes with."""
LabelType = Literal["text", "integer", "number", "boolean"]
"""What the labels of a run were before they were written as text."""


class Lineage(Spec):
    """Where a run came from: enough to repeat it and to verify it."""

    command: list[str]
    created: Moment
    versions: dict[str, str]
    threads: Count
    device: str = "cpu"
    precision: Literal["fp32", "bf16"] = "fp32"
    """Precision of matrix products and activations; weights are fp32."""
    parent: str | None = None
    parent_weights: str | None = None
    vocabulary_transfer: bool = False
    """Whether the parent's weights were transferred to another vocabulary."""
    initial_base: str
    """Hash of the base before the first step; empty for TF-IDF alone, which has none."""
    initial_head: str | None = None
    """Hash of the heads before the first step."""
    tokenizer: str
    """Fingerprint; empty for TF-IDF alone."""
    data: dict[str, str]
    """SHA-256 of each part of the data."""
    sizes: dict[str, str] = Field(default_factory=dict)
    """Size of each part, such as `500 texts`, where it is known."""


class Imported(Spec):
    """What is known of a base that was made elsewhere."""

    source: str
    """As it was given: a folder, a file or hf:owner/name."""
    revision: str | None = None
    """Commit of the hub."""
    parameters: Count
    """Parameters of the base, and of its pooler, in the files that it was read from."""
    folded: dict[str, Count] = Field(default_factory=dict)
    """Those that are part of others here, or cut, by what they are."""


class Calibration(Spec):
    """A temperature that makes a run's probabilities as high as its labels are often right."""

    temperature: CalibrationTemperature
    """All logits are divided by it; above 1 the run was overconfident."""
    texts: Count
    """Number of labelled texts that it was fitted to."""
    log_loss_before: float = Field(ge=0)
    log_loss_after: float = Field(ge=0)
    ece_before: Fraction
    """Expected calibration error on the same texts."""
    ece_after: Fraction

    def describe(self) -> str:
        """Return the temperature and what it changes, as one line."""
        return (
            f"temperature {self.temperature:.3g} from {self.texts:,} "
            f"{'text' if self.texts == 1 else 'texts'} · "
            f"log loss {self.log_loss_before:.4f} → {self.log_loss_after:.4f} · "
            f"calibration error {self.ece_before:.4f} → {self.ece_after:.4f}"
        )


class Manifest(Spec):
    """The content of run.json."""

    format: Literal[1] = 1
    kind: Literal["language-model", "classifier", "linear"]
    status: Literal["training", "finished"]
    vocab: int = Field(ge=0, le=LARGEST_VOCABULARY)
    heads: dict[str, HeadSpec]
    directions: list[Literal["causal", "bidirectional"]]
    labels: list[str] = Field(default_factory=list)
    label_type: LabelType = "text"
    """Other than text only in runs of an estimator, which returns labels of the same type."""
    direction: Literal["causal", "bidirectional"] | None = None
    lineage: Lineage
    weights: str | None = None
    feature_runs: list[str] = Field(default_factory=list)
    """Hash of each run in feature_runs/, in order."""
    result: dict[str, Figure] = Field(default_factory=dict)
    imported: Imported | None = None
    """Only of a base that greffe import wrote."""
    calibration: Calibration | None = None
    """Only of a finished run that labels texts; used if calibrated probabilities are asked for."""

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        """Check what the verbs rely on: weights, heads and labels that belong together."""
        repeated = [label for label, count in Counter(self.labels).items() if count > 1]
        if repeated:
            raise ValueError(f"labels: {repeated[0]!r} occurs more than once")
        if self.kind != "language-model" and len(self.labels) < 2:
            raise ValueError(f"labels: a {self.kind} run has at least two")
        if misnamed := [name for name, head in self.heads.items() if name != head.kind]:
            raise ValueError(f"heads: {misnamed[0]!r} is a head of another kind")
        if self.kind == "classifier":
            self._check_classifier()
        has_base = self.kind != "linear" or bool(self.lineage.initial_base)
        if has_base and not (self.vocab and self.directions):
            raise ValueError("vocab and directions: a run with a base has both")
        if has_base and self.status == "finished" and self.weights is None:
            raise ValueError("weights: a finished run has their hash")
        if not has_base and self.weights is not None:
            raise ValueError("weights: a run without a base has none")
        if self.calibration and (self.kind == "language-model" or self.status != "finished"):
            raise ValueError("calibration: only a finished run that labels texts has one")
        self._check_figures()
        return self

    def figure(self, name: str) -> float:
        """Return a number of the result, which must be there."""
        value = self.result.get(name)
        if isinstance(value, int | float):
            return value
        raise CorruptError(
            f"The result in {RUN_FILE} has no {name}.",
            expected="the figures of a finished run",
            found=", ".join(self.result) or "none",
        )

    def _check_classifier(self) -> None:
        head = self.heads.get("classification")
        if head is None or self.direction is None:
            raise ValueError("a classifier has a classification head and a direction")
        if head.outputs(self.vocab) != len(self.labels):
            raise ValueError(
                f"labels: {len(self.labels)}, but the head has {head.outputs(self.vocab)} classes"
            )

    def _check_figures(self) -> None:
        for name in NUMBERS & self.result.keys():
            value = self.result[name]
            if isinstance(value, str) or (isinstance(value, int | float) and value < 0):
                raise ValueError(f"result.{name}: {value!r} is not a number from 0 on")


class LogLine(Spec):
    """A line of metrics.jsonl: these fields if it has them, and other figures."""

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, Figure] = Field(init=False)

    step: Count
    kind: str = ""
    epoch: float | None = None
    loss: float | None = None
    accuracy: Fraction | None = None
    macro_f1: Fraction | None = None
    log_loss: float | None = None
    bits_per_byte: float | None = None


def new_lineage(**fields: Any) -> Lineage:
    """Return a lineage with the current time, command and versions."""
    return Lineage(
        command=this_command(), created=this_moment(), versions=library_versions(), **fields
    )


def this_command() -> list[str]:
    """Return the command line of this process, the same for `greffe` and `python -m greffe`."""
    program = Path(sys.argv[0]).name
    return ["greffe" if program == "__main__.py" else program, *sys.argv[1:]]


def this_moment() -> str:
    """Return the current date and time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def library_versions() -> dict[str, str]:
    """Return the versions of Python, greffe and the libraries that results depend on."""
    return {
        "python": platform.python_version(),
        "greffe": __version__,
        **{name: metadata.version(name) for name in ("torch", "tokenizers", "numpy")},
    }


# --- shipped bases ------------------------------------------------------------------------------


def bases_folder() -> Path:
    """Return the folder of the bases that ship with the package; it is never written to."""
    return Path(str(resources.files("greffe") / "bases"))


def shipped_bases() -> list[str]:
    """Return the names of the bases that ship with the package; each is a run."""
    return sorted(file.parent.name for file in bases_folder().glob(f"*/{RUN_FILE}"))


def run_path(name_or_path: str | Path) -> Path:
    """Return the path of a run: the given path if it exists, else the shipped base of this name."""
    path = Path(name_or_path)
    is_name = path.name == str(path) and not path.exists()
    return bases_folder() / path if is_name and path.name in shipped_bases() else path


def or_a_shipped_base() -> str:
    """Return `, or greffe-fr, part of the package`, the end of a list of what may be given."""
    names = ", ".join(shipped_bases())
    return f", or {names}, part of the package" if names else ""


# --- imported bases -----------------------------------------------------------------------------


def imports_folder() -> Path:
    """Return the folder of the bases that commands have imported for themselves.

    It is in $GREFFE_CACHE, else in $XDG_CACHE_HOME/greffe, else in ~/.cache/greffe.
    """
    if own := os.environ.get("GREFFE_CACHE"):
        return Path(own) / "imports"
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "greffe" / "imports"


# --- runs ---------------------------------------------------------------------------------------


def open_run(run: str | Path | RunDirectory) -> RunDirectory:
    """Open a run by path or name; a run that is open is returned as it is."""
    return run if isinstance(run, RunDirectory) else RunDirectory.open(run)


class RunDirectory:
    """A run on disk: reads and writes its small files; checkpoint.py handles the weights."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open the run at `path` or the shipped base of this name; an error says what was found."""
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
            found, hint = run._other_content()
            raise RunError(
                f"{path} is not a run.",
                expected=f"a folder with {RUN_FILE}",
                found=found,
                hint=hint,
            )
        run.manifest()
        return run

    def _other_content(self) -> tuple[str, str | None]:
        """Return what a folder that is not a run is, and what can be done with it."""
        if (self.path / "corpus.json").exists():
            return "a prepared corpus", "greffe pretrain makes a run from a corpus"
        if (self.path / "export.json").exists():
            return "an exported model", "give the run that it was exported from"
        return "a folder or file without it", None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is loaded: a worker process reads what it needs."""
        return {"path": self.path}

    @property
    def is_shipped(self) -> bool:
        """Whether the run is part of the package, where nothing is ever written."""
        return self.path.resolve().parent == bases_folder().resolve()

    @property
    def name(self) -> str:
        """The name that is shown and recorded: the path, or what a shipped base is called.

        A base that a command has imported for itself has the name of its source.
        """
        if self.is_shipped:
            return self.path.resolve().name
        if self.path.parent == imports_folder() and (self.path / RUN_FILE).exists():
            imported = self.manifest().imported
            return str(self.path) if imported is None else imported.source
        return str(self.path)

    @property
    def weights_path(self) -> Path:
        """The path of the final weights."""
        return self.path / WEIGHTS_FILE

    @property
    def checkpoints_path(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / CHECKPOINTS

    @property
    def tokenizer_path(self) -> Path:
        """The path of the tokenizer."""
        return self.path / TOKENIZER_FILE

    def require_base(self) -> None:
        """Raise an error unless the run has a base; a linear run may have none."""
        if self.manifest().lineage.initial_base:
            return
        raise RunError(
            f"{self.name} is a linear model and has no base.",
            expected="a run that greffe pretrain or finetune wrote",
            hint="greffe predict and greffe evaluate can use it",
        )

    def require_finished(self) -> None:
        """Raise an error unless the run is finished: one in training changes while it is read."""
        manifest = self.manifest()
        if manifest.status == "finished":
            return
        raise RunError(
            f"{self.name} is not finished.",
            expected="a finished run",
            found=f"a {manifest.kind} in training",
            hint="repeat the command that started it, with --resume",
        )

    def require_calibration(self) -> Calibration:
        """Return the calibration, or raise an error if the run has none."""
        calibration = self.manifest().calibration
        if calibration is not None:
            return calibration
        raise RunError(
            f"{self.name} is not calibrated.",
            expected="a run with a calibration",
            hint=f"calibrate it on labelled texts: greffe calibrate {self.name} --data TABLE",
        )

    def recipe(self) -> Recipe:
        """Return the recipe that the run was made with."""
        path = self.path / RECIPE_FILE
        if not path.exists():
            raise CorruptError(f"{path} is missing.", expected="the run's recipe")
        return load_recipe(path)

    def write_recipe(self, recipe: Recipe) -> None:
        """Write the recipe."""
        write_atomic(self.path / RECIPE_FILE, recipe.to_toml().encode())

    def manifest(self) -> Manifest:
        """Return the content of run.json."""
        return read_model(Manifest, self.path / RUN_FILE, "the run's manifest")

    def write_manifest(self, manifest: Manifest) -> None:
        """Write run.json, which makes the folder a run."""
        absent = {"calibration"} if manifest.calibration is None else set()
        write_json(self.path / RUN_FILE, manifest.model_dump(mode="json", exclude=absent))

    def log(self, **fields: Any) -> None:
        """Add one line to metrics.jsonl; values that are not finite become null."""
        plain = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in fields.items()
        }
        try:
            with (self.path / METRICS_FILE).open("a", encoding="utf-8") as file:
                file.write(format_json(plain) + "\n")
        except OSError as error:
            raise disk_error(error, self.path / METRICS_FILE) from error

    def metrics(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of metrics.jsonl; those that a crash has damaged are left out.

        A log is history: a damaged one neither stops a resumed training nor a report.
        """
        path = self.path / METRICS_FILE
        if not path.exists():
            return
        *lines, rest = read_file(path, "the run's log").split(b"\n")
        unreadable = 1 if rest else 0  # a line without an end was not written completely
        for line in lines:
            fields = _read_line(line)
            if fields is None:
                unreadable += 1
            else:
                yield fields
        if unreadable:
            several = "lines are" if unreadable > 1 else "line is"
            notice(f"{path}: {unreadable} damaged {several} ignored")

    def rewind_metrics(self, step: int) -> None:
        """Remove the lines after `step`, which a resumed run writes again."""
        lines = [line for line in self.metrics() if line["step"] <= step]
        text = "".join(format_json(line) + "\n" for line in lines)
        write_atomic(self.path / METRICS_FILE, encode_json(text))


def _read_line(line: bytes) -> dict[str, Any] | None:
    """Return the fields of a line of metrics.jsonl, or None if it is damaged."""
    try:
        fields = parse_json(line)
        LogLine.model_validate(fields)
    except (ParseError, ValidationError):
        return None
    assert isinstance(fields, dict)
    return fields
