"""Files that are not what their name says: missing, empty, folders, pipes, devices, links."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tools.fuzz.corpus_targets import READ
from tools.fuzz.run_targets import FINETUNE, PREDICT, RESUME, SHOW
from tools.fuzz.targets import Action, Target, commands

KINDS = ("missing", "empty", "folder", "pipe", "device", "loop", "dangling")
COMMANDS = {
    "base": (*SHOW, "generate base Ce --tokens 3", FINETUNE),
    "classifier": (*SHOW, *PREDICT),
    "linear": (*SHOW, *PREDICT),
    "ensemble": (*SHOW, *PREDICT),
    "corpus": READ,
    "unfinished": (*SHOW, RESUME),
    "study": ("report {run} --out out",),
    "train.tsv": ("doctor --data {run} --json", FINETUNE, "linear --data {run} --out out"),
    "text.txt": ("prepare {run} --out out --workers 1", "predict classifier --input {run}"),
}
PARTS = (*COMMANDS, "valid.tsv")
FILES = (
    *(f"base/{name}" for name in ("run.json", "recipe.toml", "tokenizer.json", "metrics.jsonl")),
    *("base/README.md", "classifier/weights.safetensors", "classifier/tokenizer.json"),
    *("linear/linear.json", "linear/linear.safetensors", "ensemble/feature_runs/0/run.json"),
    *("corpus/corpus.json", "corpus/tokenizer.json", "corpus/train-00000.tokens"),
    *("corpus/valid-00000.offsets", "unfinished/metrics.jsonl", "unfinished/recipe.toml"),
    *("study/study.json", "study/report.json", "train.tsv", "text.txt"),
)


def _choose(random: Random, data: bytes) -> bytes:
    return json.dumps({"file": random.choice(FILES), "kind": random.choice(KINDS)}).encode()


def _place(folder: Path, data: bytes) -> None:
    odd = json.loads(data)
    path = folder / odd["file"]
    path.unlink(missing_ok=True)
    match odd["kind"]:
        case "empty":
            path.touch()
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "loop":
            path.symlink_to(path)
        case "dangling":
            path.symlink_to("nothing")


def _read(data: bytes) -> Sequence[Action]:
    part = json.loads(data)["file"].split("/")[0]
    return commands(*(line.format(run=part) for line in COMMANDS[part]))(data)


TARGETS = (
    Target(
        name="odd-file",
        examples=lambda world: [],
        change=_choose,
        place=_place,
        actions=_read,
        parts=PARTS,
        written=("out", "unfinished"),
        weight=2,
    ),
)
