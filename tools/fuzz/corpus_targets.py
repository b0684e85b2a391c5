"""Corpora: manifests, the state of an unfinished one, and shards with hashes that fit."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from tools.fuzz.byte_changes import change_bytes
from tools.fuzz.recipe_targets import SIZES
from tools.fuzz.signing import sha256
from tools.fuzz.targets import Target, commands, file_at, write_to
from tools.fuzz.tree_changes import change_json

PRETRAIN = f"pretrain corpus --out out --recipe tiny --budget 1steps {SIZES} --objective"
READ = (
    f"{PRETRAIN} masked",
    f"{PRETRAIN} causal",
    f"{PRETRAIN} next_sentence",
    "doctor --data train.tsv --corpus corpus --json",
)
SHARD = "train-00000"


def _place_tokens(folder: Path, data: bytes) -> None:
    (folder / "corpus" / f"{SHARD}.tokens").write_bytes(data)
    _sign(folder, tokens=max(1, len(data) // 2), tokens_sha256=sha256(data))


def _place_offsets(folder: Path, data: bytes) -> None:
    (folder / "corpus" / f"{SHARD}.offsets").write_bytes(data)
    _sign(folder, documents=max(1, len(data) // 8 - 1), offsets_sha256=sha256(data))


def _sign(folder: Path, **values: object) -> None:
    """Let the manifest describe the changed shard."""
    path = folder / "corpus" / "corpus.json"
    manifest = json.loads(path.read_bytes())
    manifest["train"][0] |= values
    path.write_text(json.dumps(manifest), "utf-8")


def _change_offsets(random: Random, data: bytes) -> bytes:
    """Change whole offsets more often than bytes: a wrong size is noticed first."""
    if random.random() < 0.3:
        return change_bytes(random, data)
    count = len(data) // 8
    values = [int.from_bytes(data[8 * n : 8 * n + 8], "little", signed=True) for n in range(count)]
    for _ in range(random.randint(1, 3)):
        place = random.randrange(count)
        values[place] = random.choice((0, -1, 2**62, values[place] + 1, random.choice(values)))
    return b"".join(value.to_bytes(8, "little", signed=True) for value in values)


TARGETS = (
    Target(
        name="corpus-manifest",
        examples=file_at("corpus/corpus.json"),
        change=change_json,
        place=write_to("corpus/corpus.json"),
        actions=commands(*READ),
        parts=("corpus", "train.tsv"),
        weight=2,
    ),
    Target(
        name="corpus-state",
        examples=file_at("unfinished_corpus/prepare.json"),
        change=change_json,
        place=write_to("unfinished_corpus/prepare.json"),
        actions=commands(
            "prepare text.txt --out unfinished_corpus --resume --vocab 300 --valid 0.2 --workers 1"
        ),
        parts=("unfinished_corpus", "text.txt"),
        written=("unfinished_corpus",),
    ),
    Target(
        name="shard-tokens",
        examples=file_at(f"corpus/{SHARD}.tokens"),
        change=change_bytes,
        place=_place_tokens,
        actions=commands(*READ),
        parts=("corpus", "train.tsv"),
    ),
    Target(
        name="shard-offsets",
        examples=file_at(f"corpus/{SHARD}.offsets"),
        change=_change_offsets,
        place=_place_offsets,
        actions=commands(*READ),
        parts=("corpus", "train.tsv"),
    ),
)
