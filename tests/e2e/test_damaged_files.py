"""Every file that greffe reads, damaged in every usual way: each verb that reads it says so."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.builders import study_document
from tests.conftest import Command
from tests.e2e.conftest import World
from tests.e2e.test_resume import interrupt_after

import greffe
from greffe.errors import InterruptedRunError
from greffe.progress import quiet
from greffe.storage import file_hash
from greffe.study.folder import StudyDirectory, StudyManifest

pytestmark = pytest.mark.slow

TEXT = "Un roman magnifique."
Damage = Callable[[Path], None]
Verb = Callable[[Path, World, Path], list[str | Path]]


# --- what is damaged ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(world: World, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One good folder of each kind."""
    folder = tmp_path_factory.mktemp("good")
    with quiet():
        linear = greffe.linear(world.train, folder / "linear")
        greffe.linear(world.train, folder / "stacked", base=world.base, feature_runs=[linear])
    study = StudyDirectory(folder / "study")
    study.path.mkdir()
    study.write_manifest(StudyManifest(status="finished", cells=["a-all-1"], settings={}))
    study.write_document(study_document())
    with pytest.MonkeyPatch.context() as patch, pytest.raises(InterruptedRunError), quiet():
        interrupt_after(patch, 3)
        greffe.pretrain(world.corpus, folder / "unfinished", **TRAINING)
    return {
        "base": world.base,
        "classifier": world.classifier,
        "corpus": world.corpus,
        "linear": folder / "linear",
        "stacked": folder / "stacked",
        "study": folder / "study",
        "unfinished": folder / "unfinished",
    }


TRAINING: dict[str, Any] = {
    "recipe": "tiny",
    "objective": "causal",
    "budget": "6steps",
    "changes": ["train.threads=1", "train.evaluate_every=2steps"],
}
RESUME = [
    *("--recipe", "tiny", "--objective", "causal", "--budget", "6steps", "--resume"),
    *("--set", "train.threads=1", "--set", "train.evaluate_every=2steps"),
]


# --- how it is read -------------------------------------------------------------------------------


VERBS: dict[str, Verb] = {
    "predict": lambda run, world, out: ["predict", run, TEXT],
    "show": lambda run, world, out: ["show", run],
    "evaluate": lambda run, world, out: ["evaluate", run, "--data", world.valid],
    "generate": lambda run, world, out: ["generate", run, "Un", "--tokens", "2"],
    "fill": lambda run, world, out: ["fill", run, "Un <mask> magnifique."],
    "finetune": lambda run, world, out: [
        *("finetune", "--from", run, "--data", world.train, "--out", out, "--budget", "1steps")
    ],
    "linear": lambda run, world, out: [
        *("linear", "--features-from", run, "--data", world.train, "--out", out)
    ],
    "pretrain": lambda run, world, out: [
        *("pretrain", run, "--recipe", "tiny", "--budget", "1steps", "--out", out)
    ],
    "prepare": lambda run, world, out: ["prepare", world.text, "--tokenizer", run, "--out", out],
    "resume": lambda run, world, out: ["pretrain", world.corpus, "--out", run, *RESUME],
    "report": lambda run, world, out: ["report", run, "--out", out],
}


# --- damage ---------------------------------------------------------------------------------------


def missing(path: Path) -> None:
    path.unlink()


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def huge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # takes no disk space


def half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def content(data: bytes) -> Damage:
    def damage(path: Path) -> None:
        path.write_bytes(data)

    return damage


ANY_FILE: dict[str, Damage] = {
    "missing": missing,
    "folder": folder,
    "pipe": pipe,
    "huge": huge,
    "half": half,
    "empty": content(b""),
    "zeros": content(bytes(4096)),
    "bytes": content(bytes(range(256)) * 16),
    "list": content(b"[]"),
    "object": content(b"{}"),
    "null": content(b"null"),
    "deep": content(b"[" * 200_000),
    "digits": content(b"9" * 10_000),
}


def json_value(path: str, value: object) -> Damage:
    def damage(file: Path) -> None:
        tree = json.loads(file.read_text("utf-8"))
        *above, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
        inner = tree
        for key in above:
            inner = inner[key]
        inner[last] = value
        file.write_text(json.dumps(tree), "utf-8")

    return damage


FILES: list[tuple[str, str, tuple[str, ...]]] = [
    ("classifier", "run.json", ("predict", "evaluate", "finetune", "linear", "show", "report")),
    ("classifier", "recipe.toml", ("predict", "finetune")),
    ("classifier", "tokenizer.json", ("predict", "evaluate", "finetune", "prepare")),
    ("classifier", "weights.safetensors", ("predict", "evaluate", "finetune", "linear")),
    ("base", "weights.safetensors", ("generate", "fill", "finetune")),
    ("linear", "linear.json", ("predict", "evaluate", "linear")),
    ("linear", "linear.safetensors", ("predict", "evaluate", "linear")),
    ("stacked", "weights.safetensors", ("predict",)),
    ("stacked", "feature_runs/0/run.json", ("predict",)),
    ("stacked", "feature_runs/0/linear.json", ("predict",)),
    ("corpus", "corpus.json", ("pretrain",)),
    ("corpus", "tokenizer.json", ("pretrain", "prepare")),
    ("corpus", "train-00000.tokens", ("pretrain",)),
    ("corpus", "train-00000.offsets", ("pretrain",)),
    ("study", "report.json", ("report",)),
    ("unfinished", "checkpoints/*/state.json", ("resume",)),
    ("unfinished", "checkpoints/*/weights.safetensors", ("resume",)),
    ("unfinished", "checkpoints/*/optimizer.safetensors", ("resume",)),
]
VALUES: list[tuple[str, str, str, object, tuple[str, ...]]] = [
    ("classifier", "run.json", "format", 2, ("predict", "show")),
    ("classifier", "run.json", "weights", None, ("predict", "evaluate", "finetune", "show")),
    ("classifier", "run.json", "weights", "0" * 64, ("predict", "finetune")),
    ("classifier", "run.json", "vocab", -1, ("predict", "show")),
    ("classifier", "run.json", "vocab", 10**12, ("predict", "show")),
    ("classifier", "run.json", "vocab", 601, ("predict", "finetune")),
    ("classifier", "run.json", "heads", {}, ("predict", "finetune", "linear")),
    ("classifier", "run.json", "labels", ["a", "a"], ("predict", "evaluate")),
    ("classifier", "run.json", "labels", ["a", "b", "c"], ("predict", "evaluate")),
    ("classifier", "run.json", "lineage.tokenizer", "0", ("predict", "finetune")),
    ("classifier", "run.json", "lineage.created", "yesterday", ("report", "show")),
    ("classifier", "tokenizer.json", "pre_tokenizer", None, ("predict", "prepare")),
    ("classifier", "tokenizer.json", "model.continuing_subword_prefix", "x", ("predict",)),
    ("base", "run.json", "heads", {}, ("generate", "fill")),
    ("linear", "linear.json", "classes", 3, ("predict",)),
    ("linear", "run.json", "labels", ["a", "b", "c"], ("predict",)),
    ("corpus", "corpus.json", "train.0.name", "../../elsewhere", ("pretrain",)),
    ("corpus", "corpus.json", "documents", 1, ("pretrain",)),
    ("study", "report.json", "comparisons.0.first", "another", ("report",)),
    ("study", "study.json", "cells", ["../../elsewhere"], ("report",)),
    ("unfinished", "checkpoints/*/state.json", "step", -1, ("resume",)),
    ("unfinished", "checkpoints/*/state.json", "files", {}, ("resume",)),
    ("unfinished", "checkpoints/*/state.json", "files", {"weights.safetensors": 1}, ("resume",)),
]


# --- tests ----------------------------------------------------------------------------------------


def copy_of(good: Path, folder: Path) -> Path:
    return Path(shutil.copytree(good, folder / good.name))


def state_of(folder: Path) -> dict[str, str]:
    """Return the hashes of all files but the locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 1 << 30)
    return {str(path): file_hash(path) for path in files if not path.name.startswith(".greffe")}


def check_refused(command: Command, words: list[str | Path], out: Path, damaged: Path) -> None:
    before = state_of(damaged)
    outcome = command(*words)
    assert outcome.code in (1, 2, 3), (words, outcome)
    assert "error:" in outcome.err and "Traceback" not in outcome.err, outcome.err
    assert state_of(damaged) == before
    assert not out.exists() or not any(out.iterdir()), list(out.iterdir())


@pytest.mark.parametrize("damage", ANY_FILE)
@pytest.mark.parametrize(("kind", "name", "verbs"), FILES, ids=lambda value: str(value)[:40])
def test_a_damaged_file_is_an_error(
    good: dict[str, Path],
    world: World,
    command: Command,
    tmp_path: Path,
    kind: str,
    name: str,
    verbs: tuple[str, ...],
    damage: str,
) -> None:
    damaged = copy_of(good[kind], tmp_path)
    ANY_FILE[damage](next(damaged.glob(name)))
    for verb in verbs:
        out = tmp_path / "out"
        check_refused(command, VERBS[verb](damaged, world, out), out, damaged)


@pytest.mark.parametrize(("kind", "name", "key", "value", "verbs"), VALUES)
def test_a_wrong_value_is_an_error(
    good: dict[str, Path],
    world: World,
    command: Command,
    tmp_path: Path,
    kind: str,
    name: str,
    key: str,
    value: object,
    verbs: tuple[str, ...],
) -> None:
    damaged = copy_of(good[kind], tmp_path)
    json_value(key, value)(next(damaged.glob(name)))
    for verb in verbs:
        out = tmp_path / "out"
        check_refused(command, VERBS[verb](damaged, world, out), out, damaged)


@pytest.mark.parametrize("damage", [b"\0" * 4096, b'{"step": ', b"[1]\n{}\n\xff\n"])
def test_a_damaged_log_stops_nothing(
    good: dict[str, Path], world: World, command: Command, tmp_path: Path, damage: bytes
) -> None:
    run = copy_of(good["unfinished"], tmp_path)
    log = run / "metrics.jsonl"
    log.write_bytes(log.read_bytes() + damage)
    shown = command(*VERBS["report"](run, world, tmp_path / "page"))
    assert shown.code == 0 and "damaged line" in shown.err
    resumed = command(*VERBS["resume"](run, world, tmp_path / "out"))
    assert resumed.code == 0 and "damaged line" in resumed.err
    assert [json.loads(line)["step"] for line in log.read_bytes().splitlines()][-1] == 6


@pytest.mark.parametrize("kind", ["base", "classifier", "linear", "stacked", "corpus", "study"])
def test_what_is_not_damaged_is_read(
    good: dict[str, Path], world: World, command: Command, tmp_path: Path, kind: str
) -> None:
    """Every verb above succeeds on the good folders, so that its refusals mean something."""
    verbs = {
        verb for table in (FILES, VALUES) for row in table if row[0] == kind for verb in row[-1]
    }
    for verb in verbs:
        outcome = command(*VERBS[verb](good[kind], world, tmp_path / verb))
        assert outcome.code == 0, (verb, outcome)
