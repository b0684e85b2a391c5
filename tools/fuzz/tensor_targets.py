"""Tensors: weights, checkpoints and linear classifiers, with hashes that fit."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random

from greffe.baselines.linear_file import terms_hash
from tools.fuzz.byte_changes import change_bytes
from tools.fuzz.run_targets import FINETUNE, PREDICT, RESUME, TABLES
from tools.fuzz.signing import set_value, sha256
from tools.fuzz.targets import Target, commands, file_at
from tools.fuzz.tree_changes import change_json

FLOATS = (float("nan"), float("inf"), -float("inf"), 3e38, 1e-45, 0.0, -1e30)


def change_tensors(random: Random, data: bytes) -> bytes:
    """Change the header of a safetensors file, its numbers, or any bytes."""
    size = int.from_bytes(data[:8], "little")
    header, body = data[8 : 8 + size], data[8 + size :]
    how = random.randrange(3)
    if how == 0:
        header = change_json(random, header)
        return len(header).to_bytes(8, "little") + header + body
    if how == 1:
        for _ in range(random.choice((1, 1, 5, len(body) // 4))):
            place = 4 * random.randrange(len(body) // 4)
            number = struct.pack("<f", random.choice(FLOATS))
            body = body[:place] + number + body[place + 4 :]
        return data[: 8 + size] + body
    return change_bytes(random, data)


def _place_weights(run: str) -> Callable[[Path, bytes], None]:
    def place(folder: Path, data: bytes) -> None:
        (folder / run / "weights.safetensors").write_bytes(data)
        set_value(folder / run / "run.json", sha256(data), "weights")

    return place


def _place_in_checkpoint(name: str) -> Callable[[Path, bytes], None]:
    def place(folder: Path, data: bytes) -> None:
        (checkpoint,) = (folder / "unfinished" / "checkpoints").glob("step-*")
        (checkpoint / name).write_bytes(data)
        set_value(checkpoint / "state.json", sha256(data), "files", name)

    return place


def _checkpoint_file(name: str) -> Callable[[Path], list[bytes]]:
    pattern = f"unfinished/checkpoints/step-*/{name}"
    return lambda world: [path.read_bytes() for path in world.glob(pattern)]


def _place_linear_tensors(folder: Path, data: bytes) -> None:
    (folder / "linear" / "linear.safetensors").write_bytes(data)
    set_value(folder / "linear" / "linear.json", sha256(data), "hashes", "tensors")


def _place_linear(folder: Path, data: bytes) -> None:
    """Write linear.json with the right hash of its vocabularies, if it can be computed."""
    path = folder / "linear" / "linear.json"
    path.write_bytes(data)
    try:
        digest = terms_hash(json.loads(data)["vocabularies"])
        set_value(path, digest, "hashes", "vocabularies")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass  # greffe cannot compute it either


TARGETS = (
    Target(
        name="weights-base",
        examples=file_at("base/weights.safetensors"),
        change=change_tensors,
        place=_place_weights("base"),
        actions=commands("generate base Ce --tokens 3", "fill base 'Ce <mask>.' --json", FINETUNE),
        parts=("base", *TABLES),
    ),
    Target(
        name="weights-classifier",
        examples=file_at("classifier/weights.safetensors"),
        change=change_tensors,
        place=_place_weights("classifier"),
        actions=commands(*(line.format(run="classifier") for line in PREDICT)),
        parts=("classifier", *TABLES),
    ),
    *(
        Target(
            name=f"checkpoint-{name.removesuffix('.safetensors')}",
            examples=_checkpoint_file(name),
            change=change_tensors,
            place=_place_in_checkpoint(name),
            actions=commands(RESUME, "fill unfinished 'Ce <mask>.' --json"),
            parts=("unfinished", "corpus"),
            written=("unfinished",),
        )
        for name in ("weights.safetensors", "optimizer.safetensors")
    ),
    Target(
        name="linear-tensors",
        examples=file_at("linear/linear.safetensors"),
        change=change_tensors,
        place=_place_linear_tensors,
        actions=commands(*(line.format(run="linear") for line in PREDICT)),
        parts=("linear", *TABLES),
    ),
    Target(
        name="linear-settings",
        examples=file_at("linear/linear.json"),
        change=change_json,
        place=_place_linear,
        actions=commands(*(line.format(run="linear") for line in PREDICT)),
        parts=("linear", *TABLES),
    ),
)
